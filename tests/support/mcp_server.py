"""A well-behaved MCP server, made with the official SDK.

    python mcp_server.py [PORT]

With a port it speaks streamable HTTP there and wants `Authorization: Bearer letmein`, without one
it speaks on its standard streams.
"""

import base64
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
server = MCPServer("sample", version="1.0")


@server.tool()
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@server.tool()
def fail() -> str:
    """Fail always."""
    raise ValueError("no such luck")


@server.tool()
def picture() -> Image:
    """Draw one pixel."""
    return Image(data=PNG, format="png")


@server.tool()
async def count(steps: int, context: Context) -> str:
    """Count with progress."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"step {step + 1}")
    return "counted"


@server.tool()
async def forever() -> str:
    """Never end."""
    await anyio.sleep_forever()
    return ""


def guarded(app: ASGIApp) -> ASGIApp:
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Request(scope).headers.get("authorization")
            if given != "Bearer letmein":
                refusal: Response = JSONResponse({"error": "sign in"}, status_code=401)
                await refusal(scope, receive, send)
                return
        await app(scope, receive, send)

    return call


if len(sys.argv) > 1:
    app = guarded(server.streamable_http_app())
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
else:
    server.run()
