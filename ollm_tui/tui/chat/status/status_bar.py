"""The line below the composer: state, context, remarks and the keys that matter now."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.figures import rate, tokens, window
from ollm_tui.tui.chat.ports import TurnState
from ollm_tui.tui.keys import KeyHint
from ollm_tui.tui.widgets import Piece, cut, paint, spread, width_of

if TYPE_CHECKING:
    from textual.timer import Timer

_BEFORE: Final = frozenset({"loading", "reading", "compacting", "waiting"})
"""States before the first words of an answer."""
BUSY: Final = frozenset(
    {
        *(*_BEFORE, "thinking", "answering", "tools", "drawing", "making"),
        *("command", "asking"),
    }
)
_WORDS: Final[Mapping[TurnState, tuple[str, str, str]]] = {
    "ready": ("●", "ready", "ready"),
    "loading": ("◐", "busy", "loading model"),
    "reading": ("◐", "busy", "reading prompt"),
    "compacting": ("◐", "busy", "summarising"),
    "waiting": ("◐", "busy", "waiting"),
    "thinking": ("●", "busy", "thinking"),
    "answering": ("●", "busy", "streaming"),
    "tools": ("◐", "busy", "running tools"),
    "drawing": ("◐", "busy", "drawing"),
    "making": ("◐", "busy", "making"),
    "command": ("◐", "busy", "running a command"),
    "asking": ("◐", "warning", "waiting for you"),
    "stopped": ("■", "quiet", "stopped"),
    "error": ("✗", "error", "error"),
    "refused": ("✗", "error", "error"),  # the same would come again
}
SILENT_S: Final = 5
"""Seconds without anything new after which an answer counts as stalled."""
_METER_CELLS: Final = 8
_GAP: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything the line may show."""

    state: TurnState = "ready"
    elapsed_s: int = 0
    """Whole seconds since the state began."""
    silent_s: int = 0
    """Whole seconds since anything new arrived."""
    tokens_per_s: float | None = None
    progress: str = ""
    """How far a drawing is; empty if that is not known."""
    used: int | None = None
    """Tokens of the chat, or None if they were not counted."""
    limit: int | None = None
    """The context window in tokens, or None if unknown."""
    is_assumed: bool = False
    """Whether the limit is a guess."""
    facts: tuple[str, ...] = ()
    """What is known of the answer that comes: the time to its first token, the model's memory."""
    notes: tuple[str, ...] = ()
    """Short remarks such as `queued 2`."""
    keys: tuple[KeyHint, ...] = ()
    """The one that matters most comes first."""


def status_line(status: Status, width: int) -> list[Piece]:
    """Fill a line; what matters least goes first where it does not fit.

    The state stays, then the first key, the context, the remarks, the other keys, the meter, and
    last the facts of an answer that comes, the model's memory before the time to the first token.
    """
    state = _state(status)
    keys = [
        [Piece(hint.label, "key"), Piece(" "), Piece(hint.description, "quiet")]
        for hint in status.keys
    ]
    context, meter = _context(status), _meter(status)
    notes = [[Piece(clean_line(note), "quiet")] for note in status.notes]
    facts = [[Piece(clean_line(fact), "quiet")] for fact in status.facts if fact]
    facts = facts if status.state in BUSY else []
    inner = width - 2
    # From the fullest line to the barest; the first that fits is taken.
    for left, right in (
        ([state, context + meter, *facts, *notes], keys),
        ([state, context + meter, *facts[-1:], *notes], keys),
        ([state, context + meter, *notes], keys),
        *(([state, context, *notes], keys[:count]) for count in range(len(keys), 0, -1)),
        ([state, context], keys[:1]),
        ([state], keys[:1]),
    ):
        line = _join(left, right, inner)
        if line is not None:
            return [Piece(" "), *line, Piece(" ")]
    mark, word = state
    return [Piece(" "), mark, Piece(cut(word.text, max(0, inner - mark.width)), word.look)]


def _join(left: list[list[Piece]], right: list[list[Piece]], width: int) -> list[Piece] | None:
    first, last = _separated(left, _GAP), _separated(right, 2)
    gap = _GAP if first and last else 0
    fits = width_of(first) + gap + width_of(last) <= width
    return spread(first, last, width) if fits else None


def _separated(parts: list[list[Piece]], gap: int) -> list[Piece]:
    return [piece for part in parts if part for piece in (Piece(" " * gap), *part)][1:]


def _state(status: Status) -> list[Piece]:
    mark, look, word = _WORDS[status.state]
    if status.state in {*_BEFORE, "tools"}:
        word += f" {status.progress}" if status.progress else _clock(status.elapsed_s)
    elif status.state in {"drawing", "making"}:
        word += f" · {status.progress}" if status.progress else _clock(status.elapsed_s)
    elif status.state in {"thinking", "answering"}:
        is_silent = status.silent_s >= SILENT_S
        word += f", nothing for{_clock(status.silent_s)}" if is_silent else _speed(status)
    return [Piece(f"{mark} ", look), Piece(word)]


def _clock(whole_s: int) -> str:
    minutes, rest = divmod(whole_s, 60)
    if minutes:
        return f" {minutes} min {rest} s"
    return f" {rest} s" if rest else ""


def _speed(status: Status) -> str:
    speed = status.tokens_per_s
    return "" if speed is None or not math.isfinite(speed) else f" {rate(speed)}"


def _context(status: Status) -> list[Piece]:
    if not status.used and status.limit is None:
        return []
    mark = "~" if status.is_assumed else ""
    used = "?" if status.used is None else tokens(status.used)
    limit = f"{mark}{window(status.limit)}" if status.limit else "?"
    return [Piece("ctx ", "quiet"), Piece(f"{used}/{limit}", _warmth(status))]


def _share(status: Status) -> float:
    return (status.used or 0) / status.limit if status.limit else 0.0


def _warmth(status: Status) -> str:
    share = _share(status)
    return "error" if share > 1 else "warning" if share >= 0.9 else ""


def _meter(status: Status) -> list[Piece]:
    if not status.limit:
        return []
    full = min(_METER_CELLS, math.ceil(_share(status) * _METER_CELLS))
    filled = Piece("▮" * full, _warmth(status) or "meter")
    return [Piece(" "), filled, Piece("▯" * (_METER_CELLS - full), "quiet")]


TICK_S: Final = 0.25
"""How often the running clock and the speed are drawn anew; nothing ticks while idle."""


class StatusBar(Widget):
    """Draws a `Status`; repaints only when the line changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"status-bar--{look}"
        for look in ("ready", "busy", "error", "warning", "meter", "key", "quiet")
    }
    DEFAULT_CSS = """
    StatusBar {
        height: 1; color: $foreground;
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

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._status = Status()
        self._tokens_per_s: float | None = None
        self._since = self._heard_at = clock()
        self._line: list[Piece] = []
        self._ticking: Timer | None = None

    def show_turn(self, state: TurnState) -> None:
        """Show what the answer is doing; the clock of a state starts with it."""
        if state != self._status.state:
            self._since = self._clock()
        self._heard_at = self._clock()
        self._change(replace(self._status, state=state, elapsed_s=0, silent_s=0))
        self._tick_while_busy()

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Show how fast the answer comes, from the next tick on while it does."""
        self._heard_at = self._clock()
        self._tokens_per_s = tokens_per_s
        if self._ticking is None:
            self._change(self._status)

    def show_progress(self, progress: str) -> None:
        """Show how far a drawing is."""
        self._heard_at = self._clock()
        self._change(replace(self._status, progress=progress))

    def show_context(
        self, used: int | None, limit: int | None, *, is_assumed: bool = False
    ) -> None:
        """Show how much of the context window is used, both in tokens; None is unknown."""
        self._change(replace(self._status, used=used, limit=limit, is_assumed=is_assumed))

    def show_facts(self, first_token: str | None = None, model: str | None = None) -> None:
        """Show the time to the first token, or what is known of the model; None leaves it."""
        known = self._status.facts or ("", "")
        facts = (
            known[0] if first_token is None else first_token,
            known[1] if model is None else model,
        )
        self._change(replace(self._status, facts=facts))

    @property
    def state(self) -> TurnState:
        """What the answer is doing."""
        return self._status.state

    @property
    def window_text(self) -> str:
        """How much of the window is used, in words; empty if it is not known."""
        status = self._status
        if not status.used or not status.limit or status.is_assumed:
            return ""
        return f"window {tokens(status.used)} of {window(status.limit)}"

    def show_notes(self, *notes: str) -> None:
        """Show short remarks, as `queued 2`."""
        self._change(replace(self._status, notes=notes))

    def show_keys(self, keys: Sequence[KeyHint]) -> None:
        """Show the keys that matter now, the one that matters most first."""
        self._change(replace(self._status, keys=tuple(keys)))

    def _change(self, status: Status) -> None:
        self._status = replace(status, tokens_per_s=self._tokens_per_s)
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
