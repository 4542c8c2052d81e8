"""What a transcript and a status bar are told for each event."""

import pytest

from ollm_tui.protocol.chat_events import (
    ContextWarning,
    ErrorEvent,
    MediaDelta,
    Retrying,
    ToolCallResult,
    ToolCallStart,
    TurnComplete,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.tui.presenter import NoteKind, TurnPresenter, TurnState
from tests.support.scripted import finish, text, thinking


class FakeTranscript:
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def add_user(self, block_id: str, text: str) -> None:
        self.calls.append(("user", text))

    def remove_from(self, block_id: str) -> None:
        self.calls.append(("remove", block_id))

    def add_thinking(self, block_id: str) -> None:
        self.calls.append(("thinking", block_id))

    def add_answer(self, block_id: str) -> None:
        self.calls.append(("answer", block_id))

    def append(self, block_id: str, delta: str) -> None:
        self.calls.append(("append", block_id, delta))

    def finish(self, block_id: str, summary: str | None = None) -> None:
        self.calls.append(("finish", block_id, summary))

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        self.calls.append(("note", kind, text, hint))

    @property
    def notes(self) -> list[tuple[object, ...]]:
        return [call[1:] for call in self.calls if call[0] == "note"]


class FakeStatus:
    def __init__(self) -> None:
        self.states: list[TurnState] = []
        self.speeds: list[float | None] = []
        self.usage: Usage | None = None

    def show_turn(self, state: TurnState) -> None:
        self.states.append(state)

    def show_speed(self, tokens_per_s: float | None) -> None:
        self.speeds.append(tokens_per_s)

    def show_usage(self, usage: Usage) -> None:
        self.usage = usage


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Stage:
    def __init__(self) -> None:
        self.transcript, self.status, self.clock = FakeTranscript(), FakeStatus(), Clock()
        self.presenter = TurnPresenter(
            self.transcript, self.status, self.clock, retry_hint="Press r."
        )
        self.presenter.begin("why?")
        self.transcript.calls.clear()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_text_of_one_block_goes_into_one_block(stage: Stage) -> None:
    stage.presenter.apply(text("At "))
    stage.presenter.apply(text("noon"))
    assert stage.transcript.calls == [
        ("answer", "answer-1"),
        ("append", "answer-1", "At "),
        ("append", "answer-1", "noon"),
    ]


def test_thinking_folds_with_its_duration_when_the_answer_starts(stage: Stage) -> None:
    stage.presenter.apply(thinking("hm"))
    stage.clock.now = 3.2
    stage.presenter.apply(text("So."))
    assert ("finish", "thinking-1", "thought for 3.2 s") in stage.transcript.calls
    assert stage.status.states == ["waiting", "thinking", "answering"]


def test_finish_closes_the_block_and_reports_the_figures(stage: Stage) -> None:
    stage.presenter.apply(text("So."))
    stage.presenter.apply(TurnComplete(turn_number=1))
    stage.presenter.apply(finish())
    assert ("finish", "answer-1", None) in stage.transcript.calls
    assert stage.transcript.notes == [("stats", "412 tokens · 38 tok/s · first token 0.31 s", None)]
    assert stage.status.states[-1] == "ready"
    assert stage.status.usage is not None
    assert stage.status.usage.total_tokens == 3112


def test_stop_is_shown_at_once_and_nothing_after_it(stage: Stage) -> None:
    stage.presenter.apply(text("At "))
    stage.presenter.stop()
    before = list(stage.transcript.calls)
    stage.presenter.apply(text("noon"))
    stage.presenter.apply(finish("abort"))
    stage.presenter.stop()
    assert stage.transcript.calls == before
    assert stage.transcript.notes == [("stopped", "Stopped", None)]
    assert stage.status.states[-1] == "stopped"


def test_a_stop_by_the_client_is_shown_as_one(stage: Stage) -> None:
    stage.presenter.apply(finish("abort"))
    assert stage.transcript.notes == [("stopped", "Stopped", None)]


def test_an_error_is_a_note_with_its_hint(stage: Stage) -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.", hint="Start it.")
    stage.presenter.apply(text("At "))
    stage.presenter.apply(ErrorEvent(error=error))
    assert stage.transcript.notes == [("error", "Ollama does not answer.", "Start it. Press r.")]
    assert stage.presenter.failed
    assert stage.status.states[-1] == "error"


def test_an_error_that_says_aborted_is_a_stop(stage: Stage) -> None:
    stage.presenter.fail(AIError(ErrorCode.ABORTED, "Aborted."))
    assert stage.transcript.notes == [("stopped", "Stopped", None)]
    assert not stage.presenter.failed


def test_an_empty_answer_is_said(stage: Stage) -> None:
    stage.presenter.apply(finish())
    assert ("warning", "The model gave an empty answer.", None) in stage.transcript.notes


def test_a_cut_answer_is_said(stage: Stage) -> None:
    stage.presenter.apply(text("At "))
    stage.presenter.apply(finish("length"))
    assert "length limit" in str(stage.transcript.notes[0][1])


def test_speed_shows_while_it_streams_and_goes_with_the_end(stage: Stage) -> None:
    for tick in range(11):
        stage.clock.now = tick / 10
        stage.presenter.apply(text("x"))
    assert stage.status.speeds[-1] == pytest.approx(11)
    stage.presenter.apply(finish())
    assert stage.status.speeds[-1] is None


def test_warnings_and_retries_are_notes(stage: Stage) -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.")
    stage.presenter.apply(Retrying(attempt=1, wait_s=2, error=error, turn=1))
    stage.presenter.apply(ContextWarning(used=3900, limit=4096, estimated=True, turn=1))
    assert [note[1] for note in stage.transcript.notes] == [
        "Ollama does not answer. Trying again in 2.0 s.",
        "The chat fills about 3900 of the model's 4096 tokens.",
    ]


def test_tools_and_media_are_said_in_a_line(stage: Stage) -> None:
    call = ToolCall(id="1", name="clock", args={})
    stage.presenter.apply(ToolCallStart(call=call, turn=1, block="b1"))
    result = ToolResult(call_id="1", name="clock", content="no", is_error=True)
    stage.presenter.apply(ToolCallResult(call=call, result=result, turn=1, block="b1"))
    for step in (1, 2):
        stage.presenter.apply(
            MediaDelta(modality="image", data=b"", step=step, total_steps=2, turn=1, block="b2")
        )
    assert [note[1] for note in stage.transcript.notes] == [
        "⚙ clock",
        "⚙ clock failed",
        "The model sends image, which cannot be shown here.",
    ]


def test_the_next_prompt_starts_clean(stage: Stage) -> None:
    stage.presenter.fail(AIError(ErrorCode.INTERNAL_ERROR, "Broken."))
    stage.presenter.begin("again")
    assert not stage.presenter.failed
    stage.presenter.apply(text("fine", "answer-2"))
    assert stage.transcript.calls[-1] == ("append", "answer-2", "fine")


def test_asking_again_replaces_an_answer_but_keeps_an_error(stage: Stage) -> None:
    stage.presenter.apply(text("So."))
    stage.presenter.apply(finish())
    stage.presenter.begin(None)
    assert stage.transcript.calls[-2:] == [("remove", "prompt-1"), ("user", "why?")]
    stage.presenter.fail(AIError(ErrorCode.INTERNAL_ERROR, "Broken."))
    stage.presenter.begin(None)
    assert stage.transcript.calls[-1] == ("note", "error", "Broken.", "Press r.")
