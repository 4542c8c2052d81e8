"""/mcp: every server with its state, one with its tools and log, restarted or stopped."""

from pathlib import Path
from typing import cast

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall, parse, run_command, suggest
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.catalogue import (
    Catalogue,
    PromptArgument,
    PromptDefinition,
    ResourceDefinition,
    TemplateDefinition,
)
from ollm_tui.mcp.listing import ToolDefinition, ToolList
from ollm_tui.mcp.requests import Answerer, ClientSide
from ollm_tui.mcp.server import McpServer
from tests.commands.recording_host import RecordingHost


@pytest.fixture
def host() -> RecordingHost:
    time = McpServer("time", "time", McpServerSettings(command="uvx", args=["a b", "\x1b[2J"]))
    time.state, time.about = "ready", "clock 1\x1b[31m"
    tool = ToolDefinition("now", "Tell the time.\nIn any zone.", {"type": "object"})
    time.listed = ToolList((tool,), ("The tool x is left out: it is not an object.",))
    time.log.feed(b"starting \x1b[2J\nlistening\n")
    work = McpServer("my work", "my_work", McpServerSettings(url="https://me:secret@example.com/x"))
    work.state, work.problem = "failed", "It answered with HTTP 500."
    return RecordingHost(mcp={"time": time, "my work": work})


async def ran(host: RecordingHost, line: str) -> str:
    call = parse(line, COMMANDS)
    assert isinstance(call, CommandCall)
    await run_command(call, host)
    return str(host.asked[-1][1])


async def test_the_servers_are_listed_with_what_they_are(host: RecordingHost) -> None:
    time, work, _hint = (await ran(host, "/mcp")).splitlines()
    assert time.split() == ["time", "ready,", "1", "tool", "uvx", "'a", "b'", "'␛[2J'"]
    assert work.startswith("my work  stopped")
    assert "secret" not in work


async def test_one_is_shown_with_its_tools_and_the_end_of_its_log(host: RecordingHost) -> None:
    shown = await ran(host, "/mcp time")
    for line in (
        "time: ready (clock 1␛[31m)",
        "  now  Tell the time. In any zone.",
        "  The tool x is left out: it is not an object.",
        "  starting ␛[2J",
        "  listening",
    ):
        assert line in shown.splitlines()
    assert "HTTP 500" in await ran(host, "/mcp my work")


async def test_one_that_wants_a_sign_in_says_so_with_the_step(host: RecordingHost) -> None:
    work = host.mcp["my work"]
    work.needs_sign_in, work.problem = True, "It needs you to sign in: `ollm mcp login 'my work'`."
    assert "my work  sign in needed" in await ran(host, "/mcp")
    shown = (await ran(host, "/mcp my work")).splitlines()
    assert shown[0] == "my work: sign in needed"
    assert work.problem in shown


async def test_one_is_stopped_and_restarted(host: RecordingHost) -> None:
    server = host.mcp["my work"]
    assert "is off until" in await ran(host, "/mcp my work off")
    assert not server._is_on
    assert "restarts" in await ran(host, "/mcp my work restart")
    assert server._is_on


@pytest.mark.parametrize("line", ["/mcp my work login", "/mcp login my work"])
async def test_a_sign_in_begins_in_either_order_of_the_words(
    line: str, host: RecordingHost
) -> None:
    await ran(host, line)
    assert ("sign_in", "my work") in host.asked
    host.signing_in.add("my work")
    host.entered = {"address": "elsewhere"}
    assert "is not the address" in await ran(host, line)
    assert ("take", "my work", "elsewhere") in host.asked
    host.entered = {"address": "http://127.0.0.1:1/callback?code=1"}
    await ran(host, line)
    assert host.asked[-1][0] == "take"
    await ran(host, line.replace("login", "logout"))
    assert host.asked[-1] == ("cancel_sign_in", "my work")


async def test_what_takes_no_sign_in_says_why(host: RecordingHost) -> None:
    for act in ("login", "logout"):
        assert "is a program" in await ran(host, f"/mcp time {act}")
    assert "You are not signed in to my work." in await ran(host, "/mcp logout my work")


async def test_a_wrong_name_has_a_suggestion_and_without_servers_there_is_a_next_step(
    host: RecordingHost,
) -> None:
    assert "Did you mean time?" in await ran(host, "/mcp tiem")
    assert "`ollm mcp add NAME -- COMMAND`" in await ran(RecordingHost(), "/mcp")


def test_it_completes_names_and_acts(host: RecordingHost) -> None:
    names = suggest("/mcp t", COMMANDS, host)
    assert names is not None
    assert [one.value for one in names.items][:1] == ["time"]
    acts = suggest("/mcp time r", COMMANDS, host)
    assert acts is not None
    assert [one.value for one in acts.items] == ["time restart"]


async def test_one_is_shown_with_its_prompts_and_what_it_may_ask(host: RecordingHost) -> None:
    client = ClientSide(root=Path("/work\x1b"), answerer=cast("Answerer", object()))
    settings = McpServerSettings(command="x", sampling=True, elicitation=True)
    box = host.mcp["box"] = McpServer("box", "Box", settings, client=client)  # type: ignore[index]
    box.catalogue = Catalogue(
        (PromptDefinition("greet", "greet", arguments=(PromptArgument("who"),)),),
        (ResourceDefinition("a://b"),),
        (TemplateDefinition("a://{b}"),),
    )
    shown = (await ran(host, "/mcp box")).splitlines()
    assert "It is told the working folder, /work⟦U+001B⟧." in shown
    assert "It may ask your model and you; each request is a question." in shown
    assert "Prompts: /box:greet [who=…]" in shown
    assert "1 resource and 1 template: type @Box: in a message." in shown
