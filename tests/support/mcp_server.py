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
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel
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


class City(BaseModel):
    name: str
    large: bool = False


@server.tool()
async def ask_person(context: Context) -> str:
    """Ask which city."""
    result = await context.elicit("Which city?", City)
    if result.action != "accept":
        return result.action
    return f"{result.data.name}, {result.data.large}"


@server.tool()
async def ask_model(context: Context) -> str:
    """Ask the model."""
    message = SamplingMessage(role="user", content=TextContent(text="Say hi."))
    answer = await context.session.create_message(
        [message], max_tokens=20, related_request_id=context.request_id
    )
    return getattr(answer.content, "text", "")


@server.prompt()
def review(who: str) -> str:
    """Review a text."""
    return f"Review what {who} wrote."


@server.resource("notes://today")
def today() -> str:
    """What is due."""
    return "Buy tea."


@server.resource("notes://day/{date}")
def day(date: str) -> str:
    """What was due."""
    return f"Nothing on {date}."


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator] # by the SDK
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    """Complete names and days."""
    del context
    known = ["Ada", "Alan"] if isinstance(ref, PromptReference) else ["monday"]
    return Completion(values=[one for one in known if one.startswith(argument.value)])


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
