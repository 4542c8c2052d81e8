"""Tools and saved chats from the shell."""

import json

import pytest

from ollm_tui.cli.output import NEEDS_APPROVAL, NeedsApproval, Output, UsageError
from ollm_tui.cli.run import allowed_tools
from ollm_tui.cli.show import ShowText
from ollm_tui.protocol.chat_events import Retrying, ToolCallResult, ToolCallStart
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.runtime.chats import OfferedTool

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


def test_an_approval_that_nobody_can_give_has_its_own_exit_code(
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


def test_calls_and_results_are_told_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    call = ToolCall(id="1", name="read_file", args={"path": "a\x1b[2Jb"})
    result = ToolResult(call_id="1", name="read_file", content="x" * 1000, is_error=False)
    show = ShowText(Output())
    show.event(ToolCallStart(call=call, turn=1, block="b1"))
    show.event(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    seen = capsys.readouterr()
    assert seen.out == ""
    first, second = seen.err.splitlines()
    assert json.dumps({"path": "a\x1b[2Jb"}) in first
    assert second.startswith("ollm: read_file done: xxx")
    assert len(second) < 300
    assert "\x1b" not in seen.err


def test_a_refused_call_is_not_told_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    call = ToolCall(id="1", name="shell", args={})
    result = ToolResult(call_id="1", name="shell", content="Not run.", interruption="denied")
    ShowText(Output()).event(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    assert capsys.readouterr().err == "ollm: shell denied: Not run.\n"


def test_another_form_of_the_request_is_one_line_beside_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = AIError(ErrorCode.BAD_REQUEST, "Unknown parameter: 'top_k'")
    instead = "The answer was requested without `top_k`."
    ShowText(Output()).event(Retrying(attempt=1, wait_s=0, error=error, turn=1, instead=instead))
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.splitlines() == [f"ollm: Unknown parameter: 'top_k'. {instead}"]
