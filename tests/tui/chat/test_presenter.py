"""What a transcript and a status bar are told for each event."""

from typing import Any

import pytest

from ollm_tui.protocol.blocks import MediaData
from ollm_tui.protocol.chat_events import (
    ContextWarning,
    ErrorEvent,
    Finish,
    MediaDelta,
    NoAnswer,
    NoAnswerCause,
    Retrying,
    StructuredAnswer,
    ToolCallResult,
    ToolCallStart,
    TurnComplete,
    Withdrawn,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.tools import ToolCall, ToolOutcome, ToolResult
from ollm_tui.tui.chat.ports import TurnState
from ollm_tui.tui.chat.presenter import Hints, TurnPresenter
from ollm_tui.tui.transcript.block import NoteKind
from tests.support.clock import ManualClock
from tests.tui.scripted import finish, text, thinking


class FakeTranscript:
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def add_user(self, block_id: str, text: str) -> None:
        self.calls.append(("user", text))

    def remove_from(self, block_id: str, *, only: bool = False) -> None:
        self.calls.append(("empty" if only else "remove", block_id))

    def add_thinking(self, block_id: str, *, hidden: bool = False) -> None:
        self.calls.append(("hidden" if hidden else "thinking", block_id))

    def add_answer(self, block_id: str, whole: str | None = None) -> None:
        self.calls.append(("answer", block_id))
        if whole is not None:
            self.append(block_id, whole)
            self.finish(block_id)

    def append(self, block_id: str, delta: str) -> None:
        self.calls.append(("append", block_id, delta))

    def finish(self, block_id: str, summary: str | None = None, *, is_tree: bool = False) -> None:
        self.calls.append(("tree", block_id) if is_tree else ("finish", block_id, summary))

    def add_tool(
        self, block_id: str, name: str, main_argument: str = "", *, is_command: bool = False
    ) -> None:
        self.calls.append(("tool", block_id, name, main_argument))

    def show_running(self, block_id: str, output: str) -> None:
        self.calls.append(("running", block_id, output))

    def show_time(self, block_id: str, seconds: float) -> None:
        self.calls.append(("time", block_id, seconds))

    def end_tool(
        self, block_id: str, outcome: ToolOutcome, seconds: float | None, output: str
    ) -> None:
        self.calls.append(("end", block_id, outcome, seconds, output))

    def add_picture(
        self,
        block_id: str,
        data: MediaData | None,
        mime_type: str | None = None,
        url: str | None = None,
        label: str = "",
    ) -> None:
        self.calls.append(("picture", block_id, data, mime_type, url))

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
        self.progress: list[str] = []
        self.usage: Usage | None = None
        self.room: tuple[int, int] | None = None

    def show_turn(self, state: TurnState) -> None:
        self.states.append(state)

    def show_speed(self, tokens_per_s: float | None) -> None:
        self.speeds.append(tokens_per_s)

    def show_first_token(self, seconds_text: str) -> None:
        self.first_token = seconds_text

    def show_progress(self, progress: str) -> None:
        self.progress.append(progress)

    def show_usage(self, usage: Usage) -> None:
        self.usage = usage

    def show_room(self, used: int, limit: int) -> None:
        self.room = (used, limit)


class Stage:
    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.transcript, self.status, self.clock = FakeTranscript(), FakeStatus(), ManualClock()
        self.presenter = TurnPresenter(
            self.transcript,
            self.status,
            self.clock,
            hints=Hints("Press r.", "Press g.", "Press F6."),
            began=self.began.get,
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


def test_an_answer_that_matches_its_schema_becomes_a_tree(stage: Stage) -> None:
    stage.presenter.apply(text("{}"))
    stage.presenter.apply(StructuredAnswer(value={}, turn=1, block="answer-1"))
    stage.presenter.apply(TurnComplete(turn_number=1))
    assert stage.transcript.calls[-2:] == [("finish", "answer-1", None), ("tree", "answer-1")]


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


@pytest.mark.parametrize("cause", ["empty", "thinking", "calls"])
def test_an_end_without_an_answer_is_reported_in_one_note(
    cause: NoAnswerCause, stage: Stage
) -> None:
    stage.presenter.apply(NoAnswer(cause=cause))
    stage.presenter.apply(finish())
    warnings = [words for kind, words, _hint in stage.transcript.notes if kind == "warning"]
    assert warnings == [NoAnswer(cause=cause).message]
    stage.presenter.begin("again")
    stage.presenter.apply(text("Here."))
    stage.presenter.apply(finish())
    assert [kind for kind, _words, _hint in stage.transcript.notes].count("warning") == 1


def test_a_cut_without_an_answer_is_one_note(stage: Stage) -> None:
    stage.presenter.apply(NoAnswer(cause="thinking"))
    stage.presenter.apply(finish("length"))
    [words] = [words for kind, words, _hint in stage.transcript.notes if kind == "warning"]
    assert "length limit" in str(words)


def test_a_cut_answer_is_reported(stage: Stage) -> None:
    stage.presenter.apply(text("At "))
    stage.presenter.apply(finish("length"))
    assert "length limit" in str(stage.transcript.notes[0][1])


def test_speed_shows_while_it_streams_and_goes_with_the_end(stage: Stage) -> None:
    for tick in range(11):
        stage.clock.now = tick / 10
        stage.presenter.apply(text("x"))
    assert stage.status.speeds[-1] == pytest.approx(10)
    stage.presenter.apply(finish())
    assert stage.status.speeds[-1] is None


def test_speed_counts_what_came_in_larger_pieces(stage: Stage) -> None:
    for tick in range(11):
        stage.clock.now = tick / 10
        stage.presenter.apply(text("four" * 3))
    assert stage.status.speeds[-1] == pytest.approx(30)


@pytest.mark.parametrize(
    "pieces",
    [[(0.0, 4000), (0.6, 4)], [(0.0, 4000), (2.0, 4000), (2.1, 4000)], [(0.0, 9), (0.3, 9000)]],
)
def test_what_came_at_once_has_no_speed(pieces: list[tuple[float, int]], stage: Stage) -> None:
    for at, length in pieces:
        stage.clock.now = at
        stage.presenter.apply(text("x" * length))
    stage.presenter.apply(finish())
    assert not any(stage.status.speeds)


def test_the_time_of_tools_is_not_counted_as_writing(stage: Stage) -> None:
    stage.presenter.apply(text("x"))
    stage.presenter.apply(TurnComplete(turn_number=1))
    for tick in range(11):
        stage.clock.now = 60 + tick / 10
        stage.presenter.apply(text("x"))
    assert stage.status.speeds[-1] == pytest.approx(10)


def test_warnings_and_retries_are_notes(stage: Stage) -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.")
    stage.presenter.apply(Retrying(attempt=1, wait_s=2, error=error, turn=1))
    stage.presenter.apply(ContextWarning(used=3900, limit=4096, estimated=True, turn=1))
    assert [note[1] for note in stage.transcript.notes] == [
        "Ollama does not answer. Retrying in 2 s.",
        "The chat uses about 3,900 of the model's 4,096 tokens.",
    ]
    assert stage.transcript.notes[1] == ("warning", stage.transcript.notes[1][1], "Press F6.")
    assert stage.status.room == (3900, 4096)
    stage.presenter.apply(ContextWarning(used=3950, limit=4096, estimated=True, turn=2))
    assert len(stage.transcript.notes) == 2
    assert stage.status.room == (3950, 4096)


def test_a_retry_without_a_wait_says_what_is_different_this_time(stage: Stage) -> None:
    dead = AIError(ErrorCode.SERVICE_UNAVAILABLE, "vLLM does not answer at gpu1:8000.")
    whole = AIError(ErrorCode.UNSUPPORTED_FEATURE, "It cannot stream.")
    for error in (dead, whole):
        stage.presenter.apply(Retrying(attempt=1, wait_s=0, error=error, turn=1))
    assert [note[1] for note in stage.transcript.notes] == [
        "vLLM does not answer at gpu1:8000. Trying another server.",
        "It cannot stream. Streaming is not available; the answer comes all at once.",
    ]


def test_what_is_done_otherwise_stands_beside_the_reason(stage: Stage) -> None:
    error = AIError(ErrorCode.BAD_REQUEST, "Unknown parameter: 'top_k'.")
    instead = "The answer was requested without `top_k`."
    stage.presenter.apply(Retrying(attempt=1, wait_s=0, error=error, turn=1, instead=instead))
    assert stage.transcript.notes == [("warning", f"{error.message} {instead}", None)]


def test_a_window_that_is_not_known_is_not_named(stage: Stage) -> None:
    stage.presenter.apply(ContextWarning(used=39331, limit=4096, estimated=False, turn=1))
    [note] = stage.transcript.notes
    assert note[1] == "The chat has 39,331 tokens, which may not fit the window."


def test_a_question_is_no_running_tool_and_changes_nothing_after_the_end(stage: Stage) -> None:
    stage.presenter.ask(is_open=True)
    stage.presenter.ask(is_open=False)
    assert stage.status.states[-2:] == ["asking", "tools"]
    stage.presenter.stop()
    stage.presenter.ask(is_open=False)
    assert stage.status.states[-1] == "stopped"


GIF = b"GIF89a\x08\x00\x08\x00"
"""As much of a picture as it takes to know its size."""


def media(
    data: bytes, step: int | None = None, total: int | None = None, **more: str
) -> MediaDelta:
    known: dict[str, Any] = {"modality": "image", "block": "b2"} | more
    return MediaDelta(data=data, step=step, total_steps=total, turn=1, **known)


def test_a_whole_picture_is_shown_below_what_was_written(stage: Stage) -> None:
    for event in (text("Here:", block="b2"), media(GIF), text("done", block="b2"), finish()):
        stage.presenter.apply(event)
    names = [call[0] for call in stage.transcript.calls]
    assert names[:5] == ["answer", "append", "picture", "append", "finish"]
    assert stage.transcript.calls[2][2] == GIF
    assert stage.transcript.calls[2][1] != "b2"


def test_each_step_to_a_picture_takes_the_place_of_the_one_before(stage: Stage) -> None:
    for step in (1, 2, 3):
        stage.presenter.apply(media(GIF + bytes([step]), step, 3))
        if step == 2:
            stage.presenter.note("Meanwhile")
    first, second, last = (call for call in stage.transcript.calls if call[0] == "picture")
    note = ("note", "info", "Meanwhile", None)
    assert stage.transcript.calls == [
        first,
        ("remove", first[1]),
        second,
        note,
        ("remove", second[1]),
        note,
        last,
    ]
    assert [call[2] for call in (first, second, last)] == [GIF + bytes([n]) for n in (1, 2, 3)]
    assert stage.status.progress == ["step 1 of 3", "step 2 of 3", ""]
    assert stage.status.states[-1] == "drawing"


def test_a_picture_that_is_not_finished_goes_when_it_is_stopped(stage: Stage) -> None:
    stage.presenter.apply(media(b"", 0))
    stage.presenter.apply(media(GIF, 1, 3))
    stage.presenter.stop()
    picture, removal, note = stage.transcript.calls
    assert removal == ("remove", picture[1])
    assert note[2] == "Stopped"
    assert stage.status.progress[-1] == ""


def test_an_answer_of_a_picture_alone_is_no_empty_answer(stage: Stage) -> None:
    stage.presenter.apply(media(GIF))
    stage.presenter.apply(finish())
    assert [note[0] for note in stage.transcript.notes] == ["stats"]


@pytest.mark.parametrize(
    "event", [media(b"half of a picture"), media(GIF, modality="video"), media(b"", 2, 2)]
)
def test_other_media_are_reported(stage: Stage, event: MediaDelta) -> None:
    stage.presenter.apply(event)
    what = event.modality
    assert [note[1] for note in stage.transcript.notes] == [
        f"The model sends {what}, which cannot be shown here."
    ]


def test_media_is_reported_in_a_line(stage: Stage) -> None:
    for step in (1, 2, 2):
        stage.presenter.apply(
            MediaDelta(modality="image", data=b"", step=step, total_steps=2, turn=1, block="b2")
        )
    assert [note[1] for note in stage.transcript.notes] == [
        "The model sends image, which cannot be shown here.",
    ]


def call(number: int = 1) -> ToolCall:
    return ToolCall(id=str(number), name="look", args={"limit": 3, "path": "notes.md"})


def begun(number: int = 1) -> ToolCallStart:
    return ToolCallStart(call=call(number), turn=1, block=f"b{number}")


def ended(number: int = 1, content: str = "seen", **more: Any) -> ToolCallResult:
    result = ToolResult(call_id=str(number), name="look", content=content, **more)
    return ToolCallResult(call=call(number), result=result, turn=1, block=f"b{number}")


def test_a_tool_is_a_row_from_its_start_to_its_result(stage: Stage) -> None:
    stage.presenter.apply(text("Looking."))
    stage.presenter.apply(begun())
    stage.clock.now = 0.4
    stage.presenter.apply(ended())
    assert stage.transcript.calls[-3:] == [
        ("finish", "answer-1", None),
        ("tool", "b1", "look", "notes.md"),
        ("end", "b1", "done", 0.4, "seen"),
    ]
    assert stage.status.states[-2:] == ["tools", "waiting"]


def test_tools_side_by_side_end_each_by_its_own_block(stage: Stage) -> None:
    stage.presenter.apply(begun(1))
    stage.presenter.apply(begun(2))
    stage.clock.now = 1.0
    stage.presenter.apply(ended(2, "no", is_error=True))
    assert stage.status.states[-1] == "tools"
    stage.presenter.apply(ended(1, "for the model", display="for a person"))
    assert stage.transcript.calls[-2:] == [
        ("end", "b2", "failed", 1.0, "no"),
        ("end", "b1", "done", 1.0, "for a person"),
    ]


def test_refused_is_not_failed_and_stopped_is_neither(stage: Stage) -> None:
    for number, interruption in enumerate(("denied", "stopped", None), 1):
        stage.presenter.apply(begun(number))
        content = "Not run: it was not allowed."  # what the tool gave, in the third
        stage.presenter.apply(ended(number, content, interruption=interruption))
    ends = [one[2] for one in stage.transcript.calls if one[0] == "end"]
    assert ends == ["denied", "stopped", "done"]


def test_the_time_a_person_took_to_answer_is_not_the_tools(stage: Stage) -> None:
    stage.presenter.apply(begun())
    stage.began["1"] = 30.0
    stage.clock.now = 30.5
    stage.presenter.apply(ended())
    assert stage.transcript.calls[-1] == ("end", "b1", "done", 0.5, "seen")


def test_a_stop_ends_the_tools_that_run(stage: Stage) -> None:
    stage.presenter.apply(begun())
    stage.clock.now = 2.0
    stage.presenter.stop()
    stage.presenter.apply(ended())
    assert stage.transcript.calls[-2:] == [
        ("end", "b1", "stopped", 2.0, ""),
        ("note", "stopped", "Stopped", None),
    ]


def test_running_out_of_turns_says_how_to_go_on(stage: Stage) -> None:
    assert not stage.presenter.can_go_on
    stage.presenter.apply(Finish(reason="max_turns", turn=10))
    reason = "The limit of 10 turns with tools was reached; the model wants to continue."
    assert stage.transcript.notes == [("warning", reason, "Press g.")]
    assert stage.presenter.can_go_on
    stage.presenter.go_on()
    assert not stage.presenter.can_go_on
    assert stage.transcript.notes == [("warning", reason, "Press g.")]
    stage.presenter.apply(text("More.", "answer-2"))
    assert stage.transcript.calls[-1] == ("append", "answer-2", "More.")


def test_a_context_that_is_full_names_the_key_for_the_ways_out(stage: Stage) -> None:
    error = AIError(ErrorCode.CONTEXT_LENGTH_EXCEEDED, "Too long.", hint="Start a new chat.")
    stage.presenter.apply(ErrorEvent(error=error))
    assert stage.transcript.notes[-1][2] == "Start a new chat. Press F6."


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


def test_text_that_was_thinking_is_removed_and_was_thought_from_its_beginning(stage: Stage) -> None:
    stage.presenter.apply(text("So."))
    stage.clock.now += 3
    stage.presenter.apply(Withdrawn(blocks=("answer-1",), turn=1))
    stage.presenter.apply(thinking("So."))
    stage.presenter.apply(text("4", "answer-3"))
    assert ("empty", "answer-1") in stage.transcript.calls
    assert ("finish", "thinking-1", "thought for 3 s") in stage.transcript.calls
    assert not any(call[:2] == ("finish", "answer-1") for call in stage.transcript.calls)
