"""The client against a server that is made with the official SDK, over both transports."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.attachments.attachment import AttachedText
from ollm_tui.config.keys.stored_keys import StoredKeys
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.requests import (
    Action,
    AddressRequest,
    ClientSide,
    FormRequest,
    SamplingAnswer,
    SamplingRequest,
)
from ollm_tui.mcp.servers import McpServers, open_servers
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.forms import FormValues
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.sections.section import Secret
from ollm_tui.tools.define import ToolFailure
from tests.mcp.test_reading import SCOPE

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "support" / "mcp_server.py"
STDIO = McpServerSettings(
    command=sys.executable, args=[str(PROGRAM)], start_timeout_s=60, call_timeout_s=30
)


@asynccontextmanager
async def started(
    settings: McpServerSettings, folder: Path, client: ClientSide | None = None
) -> AsyncIterator[McpServers]:
    known = folder / "known.json"
    async with open_servers({"Sample server": settings}, known, client) as servers:
        changed = anyio.Event()
        servers.listener = lambda: changed.set()
        servers.start()
        (server,) = servers.all.values()
        with anyio.fail_after(90):
            while server.state not in {"ready", "failed"}:
                await changed.wait()
                changed = anyio.Event()
        yield servers


async def run(servers: McpServers, name: str, **args: JsonValue) -> ToolOutput:
    (tool,) = [one for one in servers.tools() if one.schema.name == f"Sample_server__{name}"]
    return await (await tool.prepare(args, SCOPE)).run({})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(port)])
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


async def exercise(servers: McpServers) -> None:
    assert (await run(servers, "add", left=2, right=40)).content == "42"
    failed = await run(servers, "fail")
    assert failed.is_error
    assert "fail" in failed.content
    drawn = await run(servers, "picture")
    (medium,) = drawn.media
    assert isinstance(medium, ImageContent)
    assert medium.mime_type == "image/png"
    with anyio.move_on_after(0.3) as scope:
        await run(servers, "forever")
    assert scope.cancelled_caught
    assert (await run(servers, "add", left=1, right=1)).content == "2"


class InteractiveUser:
    """Fills each form, and has a model say hi."""

    async def sample(self, request: SamplingRequest) -> SamplingAnswer:
        return SamplingAnswer(f"Hi: {request.messages[0].text}", "some://model")

    async def fill(self, request: FormRequest) -> tuple[Action, FormValues]:
        assert [(one.name, one.kind) for one in request.fields] == [
            ("name", "text"),
            ("large", "boolean"),
        ]
        return "accept", {"name": "Oslo", "large": True}

    async def open_page(self, _request: AddressRequest) -> Action:
        return "decline"


async def exercise_offers(servers: McpServers) -> None:
    """Take prompts and resources, and answer what the server asks for."""
    (server,) = servers.all.values()
    with anyio.fail_after(30):
        while not server.catalogue.prompts:
            await anyio.sleep(0.01)
    (prompt,) = server.catalogue.prompts
    assert await server.prompt(prompt.name, {"who": "Ada"}) == ["Review what Ada wrote."]
    assert await server.prompt_values("review", "who", {"who": "Al"}) == ["Alan"]
    assert [one.uri for one in server.catalogue.resources] == ["notes://today"]
    (template,) = server.catalogue.templates
    assert await server.template_values(template.uri, "date", "m") == ["monday"]
    (text,) = await server.resource("notes://day/monday")
    assert isinstance(text, AttachedText)
    assert text.text == "Nothing on monday."
    with pytest.raises(AIError, match="refused the call"):
        await server.resource("other://none")
    assert (await run(servers, "ask_person")).content == "Oslo, True"
    assert (await run(servers, "ask_model")).content == "Hi: Say hi."


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_prompts_resources_and_requests_of_a_server(
    way: str, tmp_path: Path, address: str
) -> None:
    rights: dict[str, Any] = {"sampling": True, "elicitation": True}
    headers = {"Authorization": Secret("Bearer letmein")}
    settings = (
        McpServerSettings(url=address, headers=headers, start_timeout_s=60, **rights)
        if way == "http"
        else McpServerSettings(
            command=sys.executable, args=[str(PROGRAM)], start_timeout_s=60, **rights
        )
    )
    async with started(settings, tmp_path, ClientSide(answerer=InteractiveUser())) as servers:
        await exercise_offers(servers)


async def test_over_the_streams_of_a_program(tmp_path: Path) -> None:
    async with started(STDIO, tmp_path) as servers:
        (server,) = servers.all.values()
        assert (server.state, server.about) == ("ready", "sample 1.0")
        assert {tool.effect for tool in servers.tools()} == {"network"}
        await exercise(servers)


@pytest.mark.slow
async def test_over_http_with_a_bearer_token(tmp_path: Path, address: str) -> None:
    headers = {"Authorization": Secret("Bearer letmein")}
    settings = McpServerSettings(url=address, headers=headers, start_timeout_s=60)
    async with started(settings, tmp_path) as servers:
        (server,) = servers.all.values()
        assert (server.state, server.problem) == ("ready", "")
        assert {tool.effect for tool in servers.tools()} == {"network"}
        await exercise(servers)


async def test_over_http_without_a_token_it_is_refused_with_a_sentence(
    tmp_path: Path, address: str
) -> None:
    settings = McpServerSettings(url=address, start_timeout_s=60)
    keys = StoredKeys(tmp_path)
    async with open_servers({"x": settings}, tmp_path / "known.json", keys=keys) as servers:
        servers.start()
        with anyio.fail_after(60):
            await servers.settled(["x"])
        assert servers.all["x"].problem.startswith("It needs you to sign in")
    settings.headers["Authorization"] = Secret("Bearer wrong")
    async with open_servers({"x": settings}, tmp_path / "known.json", keys=keys) as servers:
        servers.start()
        with anyio.fail_after(60):
            await servers.settled(["x"])
        assert servers.all["x"].problem.startswith("It refuses the token of `headers")
        assert (servers.all["x"].state, servers.all["x"].needs_sign_in) == ("failed", False)


async def test_nothing_is_offered_or_run_before_it_is_ready(tmp_path: Path) -> None:
    async with open_servers({"x": STDIO}, tmp_path / "known.json") as servers:
        assert servers.tools() == []
        assert servers.groups == ("x__*",)
    async with started(STDIO, tmp_path) as servers:
        (server,) = servers.all.values()
        tool = servers.tools()[0]
        server.switch(is_on=False)
        with anyio.fail_after(10):
            while server.state != "off":
                await anyio.sleep(0.01)
        with pytest.raises(ToolFailure, match="is not running"):
            await tool.prepare({"left": 1, "right": 1}, SCOPE)
