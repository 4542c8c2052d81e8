"""A site on this machine that tools may reach, whatever its host is called."""

import ipaddress
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.ports import Approver, Tool
from ollm_tui.protocol.tools import ToolResult
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolOffer, ToolRunner
from ollm_tui.web.loading import PageLoader
from tests.support.http_server import Received, Reply, Server, serve
from tests.support.tools import tool_call

HERE = (ipaddress.ip_network("127.0.0.0/8"),)
PAGES: Mapping[str, tuple[int, str, bytes]] = {
    "/": (200, "text/html", b"<title>Rain</title><p>It rains here.</p>"),
    "/picture": (200, "image/png", b"\x89PNG\x00"),
    "/long": (200, "text/plain", b"0123456789" * 5000),
}


async def to_loopback(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


def loader() -> PageLoader:
    return PageLoader(HERE, resolve=to_loopback)


@asynccontextmanager
async def site(pages: Mapping[str, tuple[int, str, bytes]] = PAGES) -> AsyncIterator[Server]:
    async def answer(request: Received, reply: Reply) -> None:
        path = request.path.partition("?")[0]
        status, kind, body = pages.get(path, (404, "text/plain", b"Nothing here."))
        headers = {"location": "http://other.example/"} if status == 302 else {}
        await reply.whole(body, status, kind, headers)

    async with serve(answer) as server:
        yield server


class Caller:
    """Calls tools in prompts, as a model does."""

    def __init__(self, approver: Approver, *tools: Tool) -> None:
        self._runner = ToolRunner(ToolRegistry(tools), approver)
        self._names = [tool.schema.name for tool in tools]
        self._number = 0
        self.offer: ToolOffer
        self.new_prompt()

    def new_prompt(self) -> None:
        self.offer = self._runner.offer(self._names)

    async def call(self, name: str, **args: JsonValue) -> ToolResult:
        self._number += 1
        with anyio.fail_after(30):
            return await self.offer.run(tool_call(name, dict(args), id=f"c{self._number}"))
