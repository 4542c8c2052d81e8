"""The line below the composer: state, context, remarks and the keys that matter now."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.chat.status_line import BUSY, Status, TurnState, status_line
from ollm_tui.tui.keys.key import KeyHint
from ollm_tui.tui.widgets.chrome import Piece, paint

if TYPE_CHECKING:
    from textual.timer import Timer

    # the vocabulary is loaded after the first frame
    from ollm_tui.protocol.message import Usage

TICK_S: Final = 0.25
"""How often the running clock and the speed are drawn anew; nothing ticks while idle."""


class StatusBar(Widget):
    """Draws a `Status`; repaints when the line it makes is another one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "status-bar--ready",
        "status-bar--busy",
        "status-bar--error",
        "status-bar--warning",
        "status-bar--meter",
        "status-bar--key",
        "status-bar--quiet",
    }
    DEFAULT_CSS = """
    StatusBar {
        height: 1;
        color: $foreground;
        & .status-bar--ready { color: $text-success; }
        & .status-bar--busy { color: $text-accent; }
        & .status-bar--error { color: $text-error; }
        & .status-bar--warning { color: $text-warning; }
        & .status-bar--meter { color: $text-accent; }
        & .status-bar--key { color: $text-accent; text-style: bold; }
        & .status-bar--quiet { color: $text-muted; }
        &:ansi .status-bar--quiet { text-style: dim; }
    }
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._status = Status()
        self._since = self._heard_at = clock()
        self._line: list[Piece] = []
        self._ticking: Timer | None = None

    def show_turn(self, state: TurnState) -> None:
        """Say what the answer is doing; the clock of a state begins with it."""
        if state != self._status.state:
            self._since = self._clock()
        self._heard_at = self._clock()
        self._change(replace(self._status, state=state, elapsed_s=0, silent_s=0))
        self._tick_while_busy()

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Say how fast the answer comes; while it comes this is drawn with the next tick."""
        self._heard_at = self._clock()
        self._status = replace(self._status, tokens_per_s=tokens_per_s)
        if self._ticking is None:
            self._redraw()

    def show_usage(self, usage: "Usage") -> None:
        """Say how much of the window the last answer and its prompt take."""
        counted = [usage.prompt_tokens, usage.completion_tokens]
        if any(count is not None for count in counted):
            used = sum(count for count in counted if count is not None)
            self._change(replace(self._status, used=used))

    def show_context(
        self, used: int | None, limit: int | None, *, is_assumed: bool = False
    ) -> None:
        """Say what is used of which window; None is not known."""
        self._change(replace(self._status, used=used, limit=limit, is_assumed=is_assumed))

    def show_notes(self, *notes: str) -> None:
        """Show short remarks, as `queued 2`."""
        self._change(replace(self._status, notes=notes))

    def show_keys(self, keys: Sequence[KeyHint]) -> None:
        """Show the keys that matter now, the one that matters most first."""
        self._change(replace(self._status, keys=tuple(keys)))

    def _change(self, status: Status) -> None:
        self._status = status
        self._redraw()

    def _redraw(self) -> None:
        line = status_line(self._status, self.size.width)
        if line != self._line:
            self._line = line
            self.refresh()

    def _tick_while_busy(self) -> None:
        busy = self._status.state in BUSY
        if busy and self._ticking is None and self.is_attached:
            self._ticking = self.set_interval(TICK_S, self._tick)
        elif not busy and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    def _tick(self) -> None:
        now = self._clock()
        elapsed_s, silent_s = int(now - self._since), int(now - self._heard_at)
        self._change(replace(self._status, elapsed_s=elapsed_s, silent_s=silent_s))

    def on_mount(self) -> None:
        """A state may have been set before there was a screen."""
        self._tick_while_busy()

    def render_line(self, y: int) -> Strip:
        """Paint the line."""
        self._line = status_line(self._status, self.size.width)
        return paint(self, "status-bar", self._line, self.size.width)
