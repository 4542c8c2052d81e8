"""What a run on the command line says of events that are no text."""

import io
import json
from types import SimpleNamespace
from typing import Any

from ollm_tui.cli.event_writer import JsonWriter, TextWriter
from ollm_tui.cli.output import Output
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode


def test_a_sound_or_a_picture_is_spoken_of_once() -> None:
    notes: list[str] = []
    output: Any = SimpleNamespace(note=notes.append)
    shown = TextWriter(output)
    for modality in ("image", "image", "audio"):
        shown.event(
            chat_events.MediaDelta(
                modality=modality, data=b"x", step=None, total_steps=None, turn=1, block="b"
            )
        )
    assert notes == [
        "The model sends image, which cannot be shown here.",
        "The model sends audio, which cannot be shown here.",
    ]


def test_an_answer_that_ends_as_a_flag_could_begin_is_whole() -> None:
    written = io.StringIO()
    shown = TextWriter(Output(written, io.StringIO()))
    shown.event(chat_events.TextDelta(delta="Surrender: \U0001f3f4", turn=1, block="b"))
    shown.event(chat_events.Finish(reason="stop"))
    assert written.getvalue() == "Surrender: \U0001f3f4\n"


def test_an_answer_in_json_is_as_the_model_wrote_it_and_an_error_has_no_key() -> None:
    written = io.StringIO()
    output = Output(written, io.StringIO())
    output.keep_secret(["staging-eu-4711"])
    shown = JsonWriter(output)
    shown.event(chat_events.TextDelta(delta="Deploy to staging-eu-4711.", turn=1, block="b"))
    shown.event(chat_events.ThinkingDelta(delta="staging-eu-4711?", turn=1, block="b"))
    error = AIError(ErrorCode.AUTH_FAILED, "staging-eu-4711 is not valid")
    shown.event(chat_events.ErrorEvent(error=error, turn=1))
    text, thinking, failure = map(json.loads, written.getvalue().splitlines())
    assert (text["delta"], thinking["delta"]) == ("Deploy to staging-eu-4711.", "staging-eu-4711?")
    assert "staging-eu-4711" not in str(failure)


def test_hidden_thinking_is_only_in_json() -> None:
    thoughts: list[str] = []
    hidden = chat_events.ThinkingDelta(delta="Hm.", turn=1, block="b", hidden=True)
    output: Any = SimpleNamespace(thinking=thoughts.append)
    shown = TextWriter(output)
    for event in (hidden, chat_events.ThinkingDelta(delta="So.", turn=1, block="b")):
        shown.event(event)
    assert thoughts == ["So."]
    written = io.StringIO()
    JsonWriter(Output(written, io.StringIO())).event(hidden)
    assert json.loads(written.getvalue())["hidden"] is True


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_thinking_that_was_the_answer_is_said_to_be_it_where_a_person_saw_it() -> None:
    for terminal, note in ((Terminal(), "The text above was the answer"), (io.StringIO(), "")):
        written = io.StringIO()
        shown = TextWriter(Output(written, terminal))
        shown.event(chat_events.ThinkingDelta(delta="4.", turn=1, block="b1"))
        shown.event(chat_events.Withdrawn(blocks=("b1",), turn=1))
        shown.event(chat_events.TextDelta(delta="4.", turn=1, block="b2"))
        shown.event(chat_events.Finish(reason="stop"))
        assert written.getvalue() == "4.\n"
        assert note in terminal.getvalue()
        assert bool(note) == bool(terminal.getvalue())


def test_nothing_is_said_of_hidden_thinking_that_was_the_answer() -> None:
    written, told = io.StringIO(), Terminal()
    shown = TextWriter(Output(written, told))
    shown.event(chat_events.TextDelta(delta="I look.", turn=1, block="b1"))
    shown.event(chat_events.TurnComplete(turn_number=1))
    shown.event(chat_events.ThinkingDelta(delta="4.", turn=2, block="b2", hidden=True))
    shown.event(chat_events.Withdrawn(blocks=("b2",), turn=2))
    shown.event(chat_events.TextDelta(delta="4.", turn=2, block="b3"))
    shown.event(chat_events.Finish(reason="stop"))
    assert told.getvalue() == ""
