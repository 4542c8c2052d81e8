"""A saved chat comes back as it looked when it was left."""

from collections.abc import Sequence

import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent, UnknownContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.chat.restore import HistoryPainter
from tests.tui.chat.test_presenter import FakeTranscript


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
        ("user", "why?"),
        ("picture", "1", None, None, "x"),
        ("thinking", "2"),
        ("append", "2", "hm"),
        ("finish", "2", "thought"),
        ("answer", "3"),
        ("append", "3", "Looking."),
        ("finish", "3", None),
        ("tool", "look", "a"),
        ("end", "4", "done", None, "seen"),
        ("answer", "5"),
        ("append", "5", "So."),
        ("finish", "5", None),
    ]
    assert painter.prompt == ("0", "why?")
    assert painter.attached == (ImageContent(url="x"),)
    assert painter.questions == {"0": 1}


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("stopped", "Stopped"),
        ("failed", "The answer failed here."),
        ("interrupted", "ollm quit before the answer was complete."),
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


def test_pictures_stand_below_the_words_and_never_without_any() -> None:
    pictures = [ImageContent(data=b"1", mime_type="image/png"), ImageContent(data="Mg==")]
    calls, _ = shown(
        [
            Message("user", [pictures[0], TextContent("this"), pictures[1], TextContent("that?")]),
            Message("assistant", [TextContent("See:"), pictures[0]]),
            Message("user", pictures),
        ]
    )
    assert [call for call in calls if call[0] in {"user", "picture", "answer"}] == [
        ("user", "this\nthat?"),
        ("picture", "1", b"1", "image/png", None),
        ("picture", "2", "Mg==", None, None),
        ("answer", "3"),
        ("picture", "4", b"1", "image/png", None),
        ("user", "[image]\n[image]"),
        ("picture", "6", b"1", "image/png", None),
        ("picture", "7", "Mg==", None, None),
    ]
