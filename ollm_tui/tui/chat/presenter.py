"""From the events of one answer to calls on the transcript and the status bar.

Blocks are found by the id their events carry. Nothing here knows the app, a screen or a widget.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from ollm_tui.decode.counted import counted
from ollm_tui.decode.images import read_image_header
from ollm_tui.protocol.chat_events import (
    ChatEvent,
    ContextWarning,
    ErrorEvent,
    Finish,
    MediaDelta,
    NoAnswer,
    PicturesLeftOut,
    Retrying,
    StructuredAnswer,
    TextDelta,
    ThinkingDelta,
    ToolCallResult,
    ToolCallStart,
    TurnComplete,
    Withdrawn,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.ports import StatusPort, TranscriptPort, TurnState
from ollm_tui.tui.chat.preview import DrawingPreview, is_step
from ollm_tui.tui.chat.restore import HistoryPainter, show_picture
from ollm_tui.tui.figures import finish_note, left_out_note, seconds, stats_line
from ollm_tui.tui.transcript import NoteKind, main_argument

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import ImageContent


@dataclass(frozen=True, slots=True)
class Hints:
    """Which key helps, for the hint of a note; empty if none does."""

    retry: str = ""
    go_on: str = ""
    context: str = ""


SAME_AGAIN: Final = frozenset(
    {
        ErrorCode.BAD_REQUEST,
        ErrorCode.AUTH_FAILED,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.MODEL_NOT_FOUND,
        ErrorCode.CONTENT_FILTERED,
        ErrorCode.NOT_IMPLEMENTED,
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        ErrorCode.UNSUPPORTED_FEATURE,
        ErrorCode.UNSUPPORTED_MODALITY,
    }
)
"""Errors that recur unless something else changes first."""
_CHARS_PER_TOKEN = 4
_FEWEST_DELTAS = 4
"""Fewer are no stream whose speed could be measured."""
WHOLE = "Streaming is not available; the answer comes all at once."
ELSEWHERE = "Trying another server."


class TurnPresenter:
    """Shows answers, one after another."""

    def __init__(
        self,
        transcript: TranscriptPort,
        status: StatusPort,
        clock: Callable[[], float] = time.monotonic,
        *,
        hints: Hints | None = None,
        began: Callable[[str], float | None] = lambda _call_id: None,
    ) -> None:
        """Show answers; `began` returns when the person approved a tool call, or None."""
        self._hints = hints or Hints()
        self._began = began
        self._transcript = transcript
        self._status = status
        self._clock = clock
        self._numbers = itertools.count(1)
        self._preview = DrawingPreview(transcript, status, lambda: f"preview-{next(self._numbers)}")
        self._prompt: tuple[str, str] | None = None
        self._pictures: Sequence[ImageContent] = ()
        self._left_out: tuple[int, str] | None = None
        self.questions: dict[str, int] = {}
        """The position of each question among the messages of the chat, by its block."""
        self._begin_turn()

    def forget(self) -> None:
        """Take note that the transcript was cleared; what still comes is not shown."""
        self._prompt = self._left_out = None
        self.questions = {}
        self._begin_turn(is_over=True)

    def recall(self, messages: Sequence[Message]) -> Mapping[int, str]:
        """Show a chat as it was left; `begin(None)` then sends its newest question.

        Returns the first block of each message, by its position.
        """
        self.forget()
        painter = HistoryPainter(self._transcript, lambda: f"past-{next(self._numbers)}")
        painter.show(messages)
        self._prompt, self._pictures = painter.prompt, painter.pictures
        self.questions = painter.questions
        return painter.first_blocks

    def choose(self, block: str, text: str, pictures: Sequence["ImageContent"] = ()) -> None:
        """Take an earlier question as the newest; `begin(None)` then sends this one."""
        position = self.questions[block]
        self.questions = {one: at for one, at in self.questions.items() if at <= position}
        self._begin_turn(is_over=True)
        self._prompt, self._pictures = (block, text), pictures

    def take_back(self, block: str) -> None:
        """Remove a question that was edited, and everything after it."""
        position = self.questions[block]
        self.questions = {one: at for one, at in self.questions.items() if at < position}
        self._begin_turn(is_over=True)
        self._prompt = None
        self._transcript.remove_from(block)

    def _begin_turn(self, *, is_over: bool = False) -> None:
        self._open: dict[str, float] = {}
        self._thinking: set[str] = set()
        self._since: float | None = None
        """When what was taken back had begun."""
        self._begin_measuring()
        self.is_over = is_over
        """Whether the end of the newest answer is shown."""
        self.failed = False
        """Whether the newest prompt ended in an error."""
        self.refused = False
        """Whether it would end in the same error again."""
        self.can_go_on = False
        """Whether the newest prompt ran out of turns."""
        self._shown_media: set[str] = set()
        self._no_answer: NoAnswer | None = None
        self._tools: dict[str, float] = {}
        self._warned = False
        self._preview.begin()

    def _begin_measuring(self) -> None:
        self._deltas = 0
        self._chars = 0
        self._first_at: float | None = None

    def note(self, text: str, kind: NoteKind = "info", hint: str | None = None) -> None:
        """Show a sentence below what is there."""
        self._preview.add_note((f"note-{next(self._numbers)}", text, kind, hint))

    def begin(
        self,
        prompt: str | None,
        position: int | None = None,
        pictures: Sequence["ImageContent"] = (),
    ) -> None:
        """Show that a prompt was sent, at which position; None is the last one again.

        An answer that is asked for again goes from the history, so it goes from the screen; an
        error stays where it is.
        """
        if prompt is None and self._prompt is not None and not self.failed:
            block, prompt = self._prompt
            position = self.questions.pop(block, None)
            self._transcript.remove_from(block)
        elif prompt is not None:
            self._pictures = pictures
        self._begin_turn()
        if prompt is not None:
            block = f"prompt-{next(self._numbers)}"
            self._prompt = (block, prompt)
            if position is not None:
                self.questions[block] = position
            self._transcript.add_user(block, prompt)
            for picture in self._pictures:
                show_picture(self._transcript, f"picture-{next(self._numbers)}", picture)
        self._status.show_speed(None)
        self._status.show_turn("waiting")

    def go_on(self) -> None:
        """Show that the model continues with the newest prompt."""
        self._begin_turn()
        self._status.show_speed(None)
        self._status.show_turn("waiting")

    def stop(self) -> None:
        """Show at once that the person stopped; what comes afterwards is not shown."""
        if self.is_over:
            return
        self._end("stopped")
        self.note("Stopped", "stopped")

    def fail(self, error: AIError) -> None:
        """Show why there is no complete answer."""
        if self.is_over:
            return
        if error.known_code is ErrorCode.ABORTED:
            self.stop()
            return
        self.failed, self.refused = True, error.known_code in SAME_AGAIN
        self._end("refused" if self.refused else "error")
        is_full = error.known_code is ErrorCode.CONTEXT_LENGTH_EXCEEDED
        ways_out = self._hints.context if is_full else ""
        retry = "" if self.refused else self._hints.retry
        hint = " ".join(part for part in (error.hint, ways_out, retry) if part)
        self.note(error.message, "error", hint or None)

    def apply(self, event: ChatEvent) -> None:
        """Show one event; after the end, or a stop, nothing is shown."""
        if self.is_over:
            return
        match event:
            case TextDelta() | ThinkingDelta() | Withdrawn():
                self._write(event)
            case ToolCallStart() | ToolCallResult():
                self._tool(event)
            case ContextWarning() | PicturesLeftOut() | Retrying():
                self._warn(event)
            case MediaDelta():
                self._media(event)
            case NoAnswer():
                self._no_answer = event
            case StructuredAnswer() | TurnComplete():
                self._close(event)
            case Finish():
                self._finish(event)
            case ErrorEvent():
                self.fail(event.error)
            case _:
                assert_never(event)

    def _write(self, event: TextDelta | ThinkingDelta | Withdrawn) -> None:
        if isinstance(event, Withdrawn):
            self._withdraw(event.blocks)
            return
        if event.block not in self._open:
            self._close_blocks()
            if isinstance(event, ThinkingDelta):
                self._transcript.add_thinking(event.block, hidden=event.hidden is True)
                self._thinking.add(event.block)
                self._status.show_turn("thinking")
            else:
                self._transcript.add_answer(event.block)
                self._status.show_turn("answering")
            self._open[event.block] = self._clock() if self._since is None else self._since
            self._since = None
        self._append(event.block, event.delta)

    def _withdraw(self, blocks: Sequence[str]) -> None:
        """Remove blocks whose text follows again."""
        began = [self._open.pop(block) for block in blocks if block in self._open]
        self._since = min(began, default=None)
        for block in blocks:
            self._thinking.discard(block)
            self._transcript.remove_from(block, only=True)
        self._begin_measuring()  # what follows was written before

    def _append(self, block: str, delta: str) -> None:
        self._transcript.append(block, delta)
        now = self._clock()
        if self._first_at is None:
            self._first_at = now  # what came first was written before it came
            return
        self._deltas += 1
        self._chars += len(delta)
        if self._deltas >= _FEWEST_DELTAS and now - self._first_at >= 0.5:
            # One delta may hold many tokens: what comes fast is handed over in larger pieces.
            count = max(self._deltas, self._chars // _CHARS_PER_TOKEN)
            self._status.show_speed(count / (now - self._first_at))

    def _close(self, event: StructuredAnswer | TurnComplete) -> None:
        self._close_blocks()
        if isinstance(event, StructuredAnswer):
            self._transcript.finish(event.block, is_tree=True)
        else:
            self._begin_measuring()  # the time of tools is not the model's

    def _tool(self, event: ToolCallStart | ToolCallResult) -> None:
        self._close_blocks()
        call = event.call
        if isinstance(event, ToolCallStart):
            self._tools[event.block] = self._clock()
            argument = main_argument(call.args, call.raw_args)
            self._transcript.add_tool(event.block, call.name, argument)
            self._status.show_turn("tools")
        elif (since := self._tools.pop(event.block, None)) is not None:
            took = self._clock() - max(since, self._began(call.id) or since)
            shown = event.result.content if event.result.display is None else event.result.display
            self._transcript.end_tool(event.block, event.result.outcome, took, shown)
            if not self._tools:
                self._status.show_turn("waiting")

    def ask(self, *, is_open: bool) -> None:
        """Show that a tool waits for approval, or no longer does."""
        if not self.is_over:
            self._status.show_turn("asking" if is_open else "tools")

    def _warn(self, event: ContextWarning | PicturesLeftOut | Retrying) -> None:
        if isinstance(event, PicturesLeftOut):
            left_out = (event.count, event.model)
            if self._left_out != left_out:  # once for the same pictures and model
                self._left_out = left_out
                self.note(left_out_note(*left_out), "warning")
            return
        if isinstance(event, Retrying):
            at_once = WHOLE if event.error.code == ErrorCode.UNSUPPORTED_FEATURE else ELSEWHERE
            again = f"Retrying in {seconds(event.wait_s)}." if event.wait_s else at_once
            self.note(f"{event.why} {event.instead or again}", "warning")
            return
        self._status.show_room(event.used, event.limit)
        if not self._warned:
            self._warned = True
            about = "about " if event.estimated else ""
            text = f"The chat uses {about}{event.used:,} of the model's {event.limit:,} tokens."
            if event.used > event.limit:  # only an assumed window lets it through
                text = f"The chat has {about}{event.used:,} tokens, which may not fit the window."
            self.note(text, "warning", self._hints.context or None)

    def _media(self, event: MediaDelta) -> None:
        if is_step(event):
            self._preview.show(event)
            return
        if event.modality == "image" and self._shows_picture(event):
            return
        if event.block not in self._shown_media:
            self._shown_media.add(event.block)
            self.note(f"The model sends {event.modality}, which cannot be shown here.", "warning")

    def _shows_picture(self, event: MediaDelta) -> bool:
        """Show a whole picture, in the place of the step before it."""
        if read_image_header(event.data) is None:
            return False
        self._preview.end()
        # A block of its own: what is written around it may go on in the event's block.
        self._transcript.add_picture(f"picture-{next(self._numbers)}", event.data)
        return True

    def _finish(self, event: Finish) -> None:
        if event.reason == "abort":
            self.stop()
            return
        self._end("ready")
        if event.usage is not None:
            self._status.show_usage(event.usage)
        if event.reason == "max_turns":
            self.can_go_on = True
            turns = counted(event.turn, "turn")
            text = f"The limit of {turns} with tools was reached; the model wants to continue."
            self.note(text, "warning", self._hints.go_on or None)
        elif text := finish_note(event.reason, self._no_answer):
            self.note(text, "warning")
        if line := stats_line(event.usage, event.timings):
            self.note(line, "stats")

    def _end(self, state: TurnState) -> None:
        self._close_blocks()
        self._preview.end()
        for block, since in self._tools.items():
            self._transcript.end_tool(block, "stopped", self._clock() - since, "")
        self._tools.clear()
        self.is_over = True
        self._status.show_speed(None)
        self._status.show_turn(state)

    def _close_blocks(self) -> None:
        now = self._clock()
        for block, since in self._open.items():
            thought = f"thought for {seconds(now - since)}" if block in self._thinking else None
            self._transcript.finish(block, thought)
        self._open.clear()
