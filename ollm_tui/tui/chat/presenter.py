"""From the events of one answer to calls on the transcript and the status bar.

Blocks are found by the id their events carry. Nothing here knows the app, a screen or a widget.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.decode.images import read_image_header
from ollm_tui.frontend import figures
from ollm_tui.protocol.chat_events import (
    ChatEvent,
    Compacted,
    ContextWarning,
    ErrorEvent,
    Finish,
    MediaDelta,
    NoAnswer,
    PicturesLeftOut,
    PromptProgress,
    Retrying,
    StructuredAnswer,
    TextDelta,
    ThinkingDelta,
    ToolCallOutput,
    ToolCallResult,
    ToolCallStart,
    TurnComplete,
    Withdrawn,
)
from ollm_tui.protocol.errors import PERMANENT_ERRORS, AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.made_media import SAVE_HINTS, media_words, whole_media
from ollm_tui.tui.chat.ports import StatusPort, TranscriptPort, TurnState
from ollm_tui.tui.chat.preview import DrawingPreview, is_step
from ollm_tui.tui.chat.restore import HistoryPainter, show_media
from ollm_tui.tui.chat.status.answer_pace import AnswerPace
from ollm_tui.tui.chat.tool_rows import ToolRows
from ollm_tui.tui.transcript import NoteKind

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import MediaContent


@dataclass(frozen=True, slots=True)
class Hints:
    """Which key helps, for the hint of a note; empty if none does."""

    retry: str = ""
    go_on: str = ""
    context: str = ""

    @classmethod
    def of(cls, key_for: Callable[[str], str]) -> "Hints":
        """Return the hints with the keys that the user has."""
        return cls(
            retry=f"Press {key_for('chat.retry')} to try again.",
            go_on=f"Press {key_for('chat.go_on')} to choose how it goes on.",
            context=f"Press {key_for('chat.context')} to make room.",
        )


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
        """Show answers; `began` returns when the user approved a tool call, or None."""
        self.compacted: Callable[[Compacted], None] = lambda _event: None
        """Called with the event after earlier messages were compacted."""
        self.more_stats: Callable[[], Sequence[str] | None] = tuple
        """Returns further figures for the line after an answer; None if there is no such line."""
        self._hints = hints or Hints()
        self.tools = ToolRows(transcript, clock, began)
        self._transcript = transcript
        self._status = status
        self._clock = clock
        self._pace = AnswerPace(clock)
        self._numbers = itertools.count(1)
        self._preview = DrawingPreview(transcript, status, lambda: f"preview-{next(self._numbers)}")
        self._prompt: tuple[str, str] | None = None
        self._attached: Sequence[MediaContent] = ()
        self._left_out: tuple[int, str, tuple[str, ...]] | None = None
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
        self._prompt, self._attached = painter.prompt, painter.attached
        self.questions = painter.questions
        return painter.first_blocks

    def choose(self, block: str, text: str, attached: Sequence["MediaContent"] = ()) -> None:
        """Take an earlier question as the newest; `begin(None)` then sends this one."""
        position = self.questions[block]
        self.questions = {one: at for one, at in self.questions.items() if at <= position}
        self._begin_turn(is_over=True)
        self._prompt, self._attached = (block, text), attached

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
        self._pace.ask()
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
        self.tools.forget()
        self._warned = False
        self._preview.begin()

    def note(self, text: str, kind: NoteKind = "info", hint: str | None = None) -> None:
        """Show a sentence below what is there."""
        self._preview.add_note((f"note-{next(self._numbers)}", text, kind, hint))

    def begin(
        self,
        prompt: str | None,
        position: int | None = None,
        attached: Sequence["MediaContent"] = (),
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
            self._attached = attached
        self._begin_turn()
        if prompt is not None:
            block = f"prompt-{next(self._numbers)}"
            self._prompt = (block, prompt)
            if position is not None:
                self.questions[block] = position
            self._transcript.add_user(block, prompt)
            for file in self._attached:
                show_media(self._transcript, f"attached-{next(self._numbers)}", file)
        self._status.show_speed(None)
        self._status.show_first_token("")
        self._status.show_turn("waiting")

    def go_on(self) -> None:
        """Show that the model continues with the newest prompt."""
        self._begin_turn()
        self._status.show_speed(None)
        self._status.show_first_token("")
        self._status.show_turn("waiting")

    def give_up(self) -> None:
        """Show that the model does not continue after its turns ran out."""
        self.can_go_on = False
        self.note("Stopped", "stopped")

    def stop(self) -> None:
        """Show at once that the user stopped; what comes afterwards is not shown."""
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
        self.failed, self.refused = True, error.known_code in PERMANENT_ERRORS
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
            case ToolCallStart() | ToolCallOutput() | ToolCallResult():
                self._tool(event)
            case PromptProgress() | Compacted() | ContextWarning() | PicturesLeftOut() | Retrying():
                self._remark(event)
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
            self._status.show_progress("")
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
        self._pace.begin()  # what follows was written before

    def _append(self, block: str, delta: str) -> None:
        self._transcript.append(block, delta)
        had_begun, speed = self._pace.has_begun, self._pace.take(delta)
        if not had_begun:
            self._status.show_first_token(
                f"first token {figures.seconds(self._pace.first_token_s)}"
            )
        if speed is not None:
            self._status.show_speed(speed)

    def _close(self, event: StructuredAnswer | TurnComplete) -> None:
        self._close_blocks()
        if isinstance(event, StructuredAnswer):
            self._transcript.finish(event.block, is_tree=True)
        else:
            self._pace.begin()  # the time of tools is not the model's

    def _tool(self, event: ToolCallStart | ToolCallOutput | ToolCallResult) -> None:
        self._close_blocks()
        were_running = self.tools.are_running
        self.tools.take(event)
        if isinstance(event, ToolCallStart):
            self._status.show_turn("tools")
        elif were_running and not self.tools.are_running:
            self._status.show_turn("waiting")

    def ask(self, *, is_open: bool) -> None:
        """Show that a tool waits for approval, or no longer does."""
        self.tools.is_asking = is_open
        if not self.is_over:
            self._status.show_turn("asking" if is_open else "tools")

    def _remark(
        self, event: PromptProgress | Compacted | ContextWarning | PicturesLeftOut | Retrying
    ) -> None:
        match event:
            case PromptProgress():
                self._status.show_turn(event.phase)
                self._status.show_progress(figures.share_done(event))
            case Compacted():
                self._make_room(event)
            case PicturesLeftOut():
                left_out = (event.count, event.model, event.kinds)
                if self._left_out != left_out:  # once for the same files and model
                    self._left_out = left_out
                    self.note(figures.left_out_note(*left_out), "warning")
            case Retrying():
                self.note(figures.retry_note(event), "warning")
            case ContextWarning():
                self._status.show_room(event.used, event.limit)
                if not self._warned:
                    self._warned = True
                    self.note(figures.context_note(event), "warning", self._hints.context or None)

    def _make_room(self, event: Compacted) -> None:
        """Say that earlier messages are no longer sent; the message in their place moves others."""
        place = event.position
        self.questions = {one: at + (at >= place) for one, at in self.questions.items()}
        self.note(event.message, hint="/tree shows the whole chat.")
        self.compacted(event)
        self._status.show_turn("waiting")

    def _media(self, event: MediaDelta) -> None:
        if is_step(event):
            self._preview.show(event)
            return
        if event.modality == "image" and self._shows_picture(event):
            return
        if self._preview.is_begun and (made := whole_media(event)) is not None:
            self._preview.end()
            self.note(media_words(made), hint=SAVE_HINTS[event.modality])
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
        elif text := figures.finish_note(event.reason, self._no_answer):
            self.note(text, "warning")
        more, line = self.more_stats(), figures.stats_line(event.usage, event.timings)
        if line and more is not None:
            self.note(" · ".join((line, *more)), "stats")

    def _end(self, state: TurnState) -> None:
        self._close_blocks()
        self._preview.end()
        self.tools.stop()
        self.is_over = True
        self._status.show_speed(None)
        self._status.show_turn(state)

    def _close_blocks(self) -> None:
        now = self._clock()
        for block, since in self._open.items():
            thought = (
                f"thought for {figures.seconds(now - since)}" if block in self._thinking else None
            )
            self._transcript.finish(block, thought)
        self._open.clear()
