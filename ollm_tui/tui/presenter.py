"""From the events of one answer to calls on the transcript and the status bar.

Blocks are found by the id their events carry. Nothing here knows the app, a screen or a widget.
"""

import itertools
import time
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, assert_never

from ollm_tui.protocol.chat_events import (
    ChatEvent,
    ContextWarning,
    ErrorEvent,
    Finish,
    MediaDelta,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolCallResult,
    ToolCallStart,
    TurnComplete,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Usage
from ollm_tui.tui.figures import finish_note, seconds, stats_line

NoteKind: TypeAlias = Literal["info", "warning", "error", "stats", "stopped"]
TurnState: TypeAlias = Literal["waiting", "thinking", "answering", "ready", "stopped", "error"]


class TranscriptFace(Protocol):
    """What the presenter asks of a transcript."""

    def add_user(self, block_id: str, text: str) -> None:
        """Show a prompt."""

    def remove_from(self, block_id: str) -> None:
        """Take away a block and all after it."""

    def add_thinking(self, block_id: str) -> None:
        """Open a block of reasoning."""

    def add_answer(self, block_id: str) -> None:
        """Open a block of the answer."""

    def append(self, block_id: str, delta: str) -> None:
        """Add to an open block."""

    def finish(self, block_id: str, summary: str | None = None) -> None:
        """Close a block; a summary folds it."""

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        """Show a sentence of the app's own."""


class StatusFace(Protocol):
    """What the presenter asks of a status bar."""

    def show_turn(self, state: TurnState) -> None:
        """Say what the answer is doing."""

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Say how fast the answer comes; None takes the figure away."""

    def show_usage(self, usage: Usage) -> None:
        """Say what the server counted."""


class TurnPresenter:
    """Shows answers, one after another."""

    def __init__(
        self,
        transcript: TranscriptFace,
        status: StatusFace,
        clock: Callable[[], float] = time.monotonic,
        *,
        retry_hint: str = "",
    ) -> None:
        """Show answers; `retry_hint` goes with an error, to say how to ask again."""
        self._retry_hint = retry_hint
        self._transcript = transcript
        self._status = status
        self._clock = clock
        self._numbers = itertools.count(1)
        self._prompt: tuple[str, str] | None = None
        self._begin_turn()

    def forget(self) -> None:
        """Take note that the transcript was cleared; what still comes is not shown."""
        self._prompt = None
        self._begin_turn()
        self._over = True

    def _begin_turn(self) -> None:
        self._open: dict[str, float] = {}
        self._thinking: set[str] = set()
        self._deltas = 0
        self._first_at: float | None = None
        self._over = False
        self.failed = False
        """Whether the newest prompt ended in an error."""
        self._shown_media: set[str] = set()

    def note(self, text: str, kind: NoteKind = "info", hint: str | None = None) -> None:
        """Show a sentence below what is there."""
        self._transcript.add_note(f"note-{next(self._numbers)}", text, kind, hint)

    def begin(self, prompt: str | None) -> None:
        """Show that a prompt was sent; None is the last one again.

        An answer that is asked for again goes from the history, so it goes from the screen; an
        error stays where it is.
        """
        if prompt is None and self._prompt is not None and not self.failed:
            block, prompt = self._prompt
            self._transcript.remove_from(block)
        self._begin_turn()
        if prompt is not None:
            block = f"prompt-{next(self._numbers)}"
            self._prompt = (block, prompt)
            self._transcript.add_user(block, prompt)
        self._status.show_speed(None)
        self._status.show_turn("waiting")

    def stop(self) -> None:
        """Show at once that the person stopped; whatever comes after it is not shown."""
        if self._over:
            return
        self._end("stopped")
        self.note("Stopped", "stopped")

    def fail(self, error: AIError) -> None:
        """Show why there is no (whole) answer."""
        if self._over:
            return
        if error.known_code is ErrorCode.ABORTED:
            self.stop()
            return
        self._end("error")
        self.failed = True
        hint = " ".join(part for part in (error.hint, self._retry_hint) if part)
        self.note(error.message, "error", hint or None)

    def apply(self, event: ChatEvent) -> None:
        """Show one event; after the end, or a stop, nothing is shown."""
        if self._over:
            return
        match event:
            case TextDelta():
                self._answer(event)
            case ThinkingDelta():
                self._think(event)
            case ToolCallStart() | ToolCallResult():
                self._tool(event)
            case ContextWarning() | Retrying():
                self._warn(event)
            case MediaDelta():
                self._media(event)
            case TurnComplete():
                self._close_blocks()
            case Finish():
                self._finish(event)
            case ErrorEvent():
                self.fail(event.error)
            case _:
                assert_never(event)

    def _answer(self, event: TextDelta) -> None:
        if event.block not in self._open:
            self._close_blocks()
            self._transcript.add_answer(event.block)
            self._opened(event.block)
            self._status.show_turn("answering")
        self._append(event.block, event.delta)

    def _think(self, event: ThinkingDelta) -> None:
        if event.block not in self._open:
            self._close_blocks()
            self._transcript.add_thinking(event.block)
            self._opened(event.block)
            self._thinking.add(event.block)
            self._status.show_turn("thinking")
        self._append(event.block, event.delta)

    def _opened(self, block: str) -> None:
        self._open[block] = self._clock()

    def _append(self, block: str, delta: str) -> None:
        self._transcript.append(block, delta)
        self._deltas += 1
        now = self._clock()
        if self._first_at is None:
            self._first_at = now
        elif now - self._first_at >= 0.5:
            self._status.show_speed(self._deltas / (now - self._first_at))

    def _tool(self, event: ToolCallStart | ToolCallResult) -> None:
        self._close_blocks()
        if isinstance(event, ToolCallStart):
            self.note(f"⚙ {event.call.name}")
        elif event.result.is_error:
            self.note(f"⚙ {event.call.name} failed", "warning")

    def _warn(self, event: ContextWarning | Retrying) -> None:
        if isinstance(event, Retrying):
            wait = seconds(event.wait_s)
            self.note(f"{event.error.message} Trying again in {wait}.", "warning")
            return
        about = "about " if event.estimated else ""
        self.note(
            f"The chat fills {about}{event.used} of the model's {event.limit} tokens.", "warning"
        )

    def _media(self, event: MediaDelta) -> None:
        if event.block not in self._shown_media:
            self._shown_media.add(event.block)
            self.note(f"The model sends {event.modality}, which cannot be shown here.", "warning")

    def _finish(self, event: Finish) -> None:
        if event.reason == "abort":
            self.stop()
            return
        empty = not self._deltas
        self._end("ready")
        if event.usage is not None:
            self._status.show_usage(event.usage)
        if text := finish_note(event.reason, empty=empty):
            self.note(text, "warning")
        if line := stats_line(event.usage, event.timings):
            self.note(line, "stats")

    def _end(self, state: TurnState) -> None:
        self._close_blocks()
        self._over = True
        self._status.show_speed(None)
        self._status.show_turn(state)

    def _close_blocks(self) -> None:
        now = self._clock()
        for block, since in self._open.items():
            thought = block in self._thinking
            self._transcript.finish(
                block, f"thought for {seconds(now - since)}" if thought else None
            )
        self._open.clear()
