"""Tools and saved chats from the shell."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.cli.event_writer import TextWriter
from ollm_tui.cli.mcp.prompt_tools import allowed_tools
from ollm_tui.cli.output import NEEDS_APPROVAL, NeedsApproval, Output, UsageError
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.chat_events import Retrying, ToolCallResult, ToolCallStart
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.runtime.compose import open_runtime
from ollm_tui.runtime.tools.toolbox import OfferedTool
from tests.cli.conftest import Ollm
from tests.cli.fake_ollama import DONE, FakeOllama, text_line

READING = [OfferedTool(name, "read", "Reads.") for name in ("read_file", "calculate")]
WRITING = OfferedTool("write_note", "write", "Writes.")


def test_tools_that_only_read_are_allowed_by_name_or_all_together() -> None:
    offered = READING
    assert allowed_tools(["read_file", "calculate", "read_file"], offered) == (
        "read_file",
        "calculate",
    )
    assert allowed_tools(["all"], offered) == ("read_file", "calculate")
    assert allowed_tools([], offered) == ()


def test_a_tool_that_does_more_than_read_needs_an_approval() -> None:
    offered = [*READING, WRITING]
    for names in (["write_note"], ["all"]):
        with pytest.raises(NeedsApproval, match="write_note"):
            allowed_tools(names, offered)


def test_an_approval_without_a_terminal_has_its_own_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> int:
        raise NeedsApproval("write_note does more than read.")

    assert Output().guard(work) == NEEDS_APPROVAL
    assert "write_note" in capsys.readouterr().err


def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no tool 'nope'") as caught:
        allowed_tools(["nope"], READING)
    assert "read_file" in (caught.value.hint or "")


def test_a_misspelt_tool_that_would_have_to_be_allowed_is_named() -> None:
    with pytest.raises(UsageError, match="no tool 'wirte_note'") as caught:
        allowed_tools(["wirte_note"], READING, further=["write_note"])
    assert caught.value.hint == "Did you mean write_note?"


def test_calls_and_results_are_reported_beside_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ToolCall(id="1", name="read_file", args={"path": "a\x1b[2Jb"})
    result = ToolResult(call_id="1", name="read_file", content="x" * 1000, is_error=False)
    show = TextWriter(Output())
    show.event(ToolCallStart(call=call, turn=1, block="b1"))
    show.event(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    seen = capsys.readouterr()
    assert seen.out == ""
    first, second = seen.err.splitlines()
    assert json.dumps({"path": "a\x1b[2Jb"}) in first
    assert second.startswith("ollm: read_file done: xxx")
    assert len(second) < 300
    assert "\x1b" not in seen.err


def test_a_refused_call_is_not_reported_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    call = ToolCall(id="1", name="shell", args={})
    result = ToolResult(call_id="1", name="shell", content="Not run.", interruption="denied")
    TextWriter(Output()).event(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    assert capsys.readouterr().err == "ollm: shell denied: Not run.\n"


def test_another_form_of_the_request_is_one_line_beside_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = AIError(ErrorCode.BAD_REQUEST, "Unknown parameter: 'top_k'")
    instead = "The answer was requested without `top_k`."
    TextWriter(Output()).event(Retrying(attempt=1, wait_s=0, error=error, turn=1, instead=instead))
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.splitlines() == [f"ollm: Unknown parameter: 'top_k'. {instead}"]


READ = {"function": {"name": "read_file", "arguments": {"path": "plan.txt"}}}
TOOLS = ("current_time", "read_file")


async def save_a_chat(url: str) -> None:
    """Keep a chat of the app in which tools are on and every call asks."""
    paths = default_paths()
    loaded = load_config(paths, os.environ, Flags(host=url, provider="local"))
    async with open_runtime(loaded, paths) as runtime:
        client = runtime.new_client("local://tiny:1b")
        client.conversation.tools = TOOLS
        async with client.chat("hi") as events:
            async for _ in events:
                pass


def test_tools_of_a_chat_are_off_until_the_option_names_them(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    fake.capabilities = ["completion", "tools"]
    settings = tmp_path / "config.toml"
    settings.write_text(f"[tools]\nroot = '{tmp_path}'\n[chat]\nmax_turns = 2\n")
    asked = ["--host", fake.url, "--model", "local://tiny:1b", "--config", str(settings), "-c"]
    anyio.run(partial(save_a_chat, fake.url))
    fake.requests.clear()
    fake.lines = [text_line("", tool_calls=[READ]), DONE]

    done = ollm(*asked, "-p", "plan?")
    assert "tools" not in fake.requests[0]
    note = "ollm: Tools are off: current_time, read_file. Use --tools to allow those that read."
    assert note in done.stderr.splitlines()
    assert "the plan" not in json.dumps(fake.requests) + done.stdout + done.stderr

    fake.requests.clear()
    done = ollm(*asked, "--tools", "read_file", "-p", "plan?")
    assert offered(fake) == ["read_file"]
    assert "the plan" in fake.requests[-1]["messages"][-1]["content"]
    assert "Tools are off" not in done.stderr


def test_tools_of_the_settings_are_on_also_in_a_chat_that_had_others(
    ollm: Ollm, fake: FakeOllama, tmp_path: Path
) -> None:
    fake.capabilities = ["completion", "tools"]
    settings = tmp_path / "config.toml"
    settings.write_text("[tools]\nenabled = ['current_time']\n")
    asked = ["--host", fake.url, "--model", "local://tiny:1b", "--config", str(settings), "-c"]
    anyio.run(partial(save_a_chat, fake.url))
    fake.requests.clear()
    done = ollm(*asked, "-p", "hi")
    assert offered(fake) == ["current_time"]
    assert "ollm: Tools are off: read_file. " in done.stderr


def offered(fake: FakeOllama) -> list[Any]:
    return [tool["function"]["name"] for tool in fake.requests[0]["tools"]]
