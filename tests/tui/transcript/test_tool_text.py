"""What a line says of a call, and how its result is told apart."""

import pytest

from ollm_tui.frontend.tool_text import main_argument, saved_outcome
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import STOPPED, Approval, ToolCall
from ollm_tui.tools.define import tool
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"limit": 3, "path": "notes/optics.md"}, "notes/optics.md"),
        ({"url": "https://en.wikipedia.org/wiki/Sky"}, "en.wikipedia.org/wiki/Sky"),
        ({"url": "http://plain.example"}, "http://plain.example"),
        ({"path": "", "text": "hello"}, "hello"),
        ({"limit": 3}, "limit: 3"),
        ({"path": "", "deep": True, "limit": 3}, "deep: true"),
        ({"items": ["a", 1]}, 'items: ["a", 1]'),
        ({"path": ""}, ""),
        ({}, ""),
    ],
)
def test_the_argument_that_says_most_is_chosen(args: JsonObject, shown: str) -> None:
    assert main_argument(args) == shown


def test_what_is_no_object_is_shown_as_it_was_written() -> None:
    assert main_argument(None, '{"path": ') == '{"path": '


class Says:
    def __init__(self, allowed: bool) -> None:
        self._allowed = allowed

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        return Approval(allowed=self._allowed, reason="Not today.")


async def result(allowed: bool, *, fails: bool = False, says: str = "seen") -> str:
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        if fails:
            raise ValueError("no")
        return says

    offer = ToolRunner(ToolRegistry([look]), Says(allowed)).offer(["look"])
    found = await offer.run(ToolCall(id="1", name="look", args={}))
    return found.outcome


async def test_what_the_runner_gives_is_distinguished() -> None:
    assert await result(True) == "done"
    assert await result(True, fails=True) == "failed"
    assert await result(False) == "denied"


@pytest.mark.parametrize("words", ["Not run: it was not allowed. Not today.", STOPPED])
async def test_a_tool_that_ran_cannot_pass_for_one_that_did_not(words: str) -> None:
    assert await result(True, says=words) == "done"
    assert saved_outcome(Message("tool", words, metadata={"outcome": "done"})) == "done"


@pytest.mark.parametrize(
    ("words", "is_error", "ended"),
    [
        ("Not run: it was not allowed. Not today.", False, "denied"),
        (STOPPED, True, "stopped"),
        ("No such file.", True, "failed"),
        ("12:00", False, "done"),
    ],
)
def test_a_result_saved_without_its_outcome_tells_it_by_its_text(
    words: str, is_error: bool, ended: str
) -> None:
    assert saved_outcome(Message("tool", words, metadata={"is_error": is_error})) == ended
