"""The client of this program, as the conformance tests of the protocol drive it.

    python -m tests.support.mcp_conformance_client URL

The variable MCP_CONFORMANCE_SCENARIO names what is tried. A sign-in is agreed to at once.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx2

from ollm_tui.config.keys.stored_keys import StoredKeys
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.servers import open_servers
from ollm_tui.mcp.settings import HttpServer
from ollm_tui.mcp.signing_in import sign_in
from ollm_tui.mcp.tokens import ServerTokens
from ollm_tui.protocol.json_types import JsonObject

ARGUMENTS: dict[str, JsonObject] = {"add_numbers": {"a": 5, "b": 3}}


async def agree(address: str, _take: Callable[[str], bool]) -> None:
    """Be the browser of a person who agrees."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        await browser.get(address)


async def main(url: str, scenario: str, folder: Path) -> int:
    keys = StoredKeys(folder)
    if scenario.startswith("auth/"):
        await sign_in(HttpServer(url=url), ServerTokens(keys, "tried", url), agree)
    settings = {"tried": McpServerSettings(url=url)}
    async with open_servers(settings, folder / "known", keys=keys) as servers:
        servers.start()
        await servers.settled(["tried"])
        server = servers.all["tried"]
        for tool in server.listed.tools:
            await server.call(tool, ARGUMENTS.get(tool.name, {}))
        return 0 if server.state == "ready" else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        named = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
        sys.exit(anyio.run(main, sys.argv[-1], named, Path(folder)))
