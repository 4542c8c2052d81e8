"""A saved chat comes back as it looked when it was left."""

from collections.abc import Sequence

import pytest

from ollm_tui.protocol.blocks import (
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
)
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.history import HistoryPainter
from tests.tui.test_presenter import FakeTranscript


def shown(messages: Sequence[Message]) -> tuple[list[tuple[object, ...]], HistoryPainter]:
    transcript = FakeTranscript()
    numbers = iter(range(1000))
    painter = HistoryPainter(transcript, lambda: str(next(numbers)))
    painter.show(messages)
    return [(call[0], *call[2:]) if call[0] in {"tool"} else call for call in transcript.calls], (
        painter
    )


def test_every_kind_of_message_has_its_place() -> None:
    calls, painter = shown(
        [
            Message("system", "Be short."),
            Message("user", [TextContent("why?"), ImageContent(url="x")]),
            Message(
                "assistant",
                [ThinkingContent("hm"), TextContent("Looking.")],
                tool_calls=[ToolCall(id="c", name="look", args={"path": "a"})],
            ),
            Message("tool", "seen", name="look", tool_call_id="c"),
            Message("assistant", "So."),
        ]
    )
    assert calls == [
        ("user", "why?\n[image]"),
        ("thinking", "1"),
        ("append", "1", "hm"),
        ("finish", "1", "thought"),
        ("answer", "2"),
        ("append", "2", "Looking."),
        ("finish", "2", None),
        ("tool", "look", "a"),
        ("end", "3", "done", None, "seen"),
        ("answer", "4"),
        ("append", "4", "So."),
        ("finish", "4", None),
    ]
    assert painter.prompt == ("0", "why?\n[image]")


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("stopped", "Stopped"),
        ("failed", "The answer failed here."),
        ("interrupted", "The program ended before the answer did."),
        ("in some new way", None),
    ],
)
def test_how_an_answer_ended_is_marked(ended: str, words: str | None) -> None:
    calls, _ = shown([Message("assistant", "So", metadata={"ended": ended})])
    notes = [call[2] for call in calls if call[0] == "note"]
    assert notes == ([words] if words else [])


def test_a_failed_call_a_refused_one_and_one_without_a_result() -> None:
    calls, _ = shown(
        [
            Message(
                "assistant", tool_calls=[ToolCall(id=f"{n}", name="look", args={}) for n in "abc"]
            ),
            Message("tool", "no", tool_call_id="a", metadata={"is_error": True}),
            Message("tool", "Not run: it was not allowed.", tool_call_id="b"),
        ]
    )
    ends = [(call[2], call[4]) for call in calls if call[0] == "end"]
    assert ends == [
        ("failed", "no"),
        ("denied", "Not run: it was not allowed."),
        ("stopped", ""),
    ]


def test_what_is_not_known_is_shown_as_it_is() -> None:
    calls, _ = shown(
        [
            Message("assistant", [UnknownContent("chart", {"x": 1})]),
            Message("critic", "Hm."),
            Message("tool", "lost", tool_call_id="nobody"),
        ]
    )
    assert [call[2] for call in calls] == ['[chart] {"x": 1}', "Hm.", "lost"]


def test_what_the_program_asked_of_the_model_is_no_prompt() -> None:
    calls, painter = shown(
        [
            Message("user", "why?"),
            Message("user", "Write the call again.", metadata={"correction": True}),
        ]
    )
    assert calls[-1][0] == "note"
    assert painter.prompt == ("0", "why?")
