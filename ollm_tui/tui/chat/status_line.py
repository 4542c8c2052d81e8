"""What stands in the status line at a given width; pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.figures import tokens
from ollm_tui.tui.keys.key import KeyHint
from ollm_tui.tui.widgets.chrome import Piece, cut, spread, width_of

TurnState: TypeAlias = Literal[
    "ready",
    "loading",
    "waiting",
    "thinking",
    "answering",
    "tools",
    "asking",
    "stopped",
    "error",
    "refused",
]
BUSY: Final = frozenset({"loading", "waiting", "thinking", "answering", "tools", "asking"})
_WORDS: Final[Mapping[TurnState, tuple[str, str, str]]] = MappingProxyType(
    {
        "ready": ("●", "ready", "ready"),
        "loading": ("◐", "busy", "loading model"),
        "waiting": ("◐", "busy", "waiting"),
        "thinking": ("●", "busy", "thinking"),
        "answering": ("●", "busy", "streaming"),
        "tools": ("◐", "busy", "running tools"),
        "asking": ("◐", "warning", "waiting for you"),
        "stopped": ("■", "quiet", "stopped"),
        "error": ("✗", "error", "error"),
        "refused": ("✗", "error", "error"),  # the same would come again
    }
)
SILENT_S: Final = 5
"""Seconds without anything new after which an answer is said to stand still."""
_METER_CELLS: Final = 8
_GAP: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything the line may say."""

    state: TurnState = "ready"
    elapsed_s: int = 0
    """Whole seconds since the state began."""
    silent_s: int = 0
    """Whole seconds since anything new came to show."""
    tokens_per_s: float | None = None
    used: int | None = None
    """None where nobody has counted what the chat holds."""
    limit: int | None = None
    """The window in tokens; None while unknown."""
    is_assumed: bool = False
    """Whether the limit is a guess."""
    notes: tuple[str, ...] = ()
    """Short remarks as `queued 2`."""
    keys: tuple[KeyHint, ...] = ()
    """The one that matters most comes first."""


def status_line(status: Status, width: int) -> list[Piece]:
    """Fill a line; what matters least goes first where it does not fit.

    The state stays, then the first key, the context, the remarks, the other keys, the meter.
    """
    state = _state(status)
    keys = [_key(hint) for hint in status.keys]
    context, meter = _context(status), _meter(status)
    notes = [[Piece(clean_line(note), "quiet")] for note in status.notes]
    inner = width - 2
    # From the fullest line to the barest; the first that fits is taken.
    for left, right in (
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
    line: list[Piece] = []
    for part in parts:
        if part:
            line += [*([Piece(" " * gap)] if line else []), *part]
    return line


def _state(status: Status) -> list[Piece]:
    mark, look, word = _WORDS[status.state]
    match status.state:
        case "loading" | "waiting" | "tools":
            word += _clock(status.elapsed_s)
        case "thinking" | "answering":
            is_silent = status.silent_s >= SILENT_S
            word += f", nothing for{_clock(status.silent_s)}" if is_silent else _speed(status)
        case _:
            pass
    return [Piece(f"{mark} ", look), Piece(word)]


def _clock(whole_s: int) -> str:
    minutes, rest = divmod(whole_s, 60)
    if minutes:
        return f" {minutes} min {rest} s"
    return f" {rest} s" if rest else ""


def _speed(status: Status) -> str:
    rate = status.tokens_per_s
    if rate is None or not math.isfinite(rate):
        return ""
    return f" {rate:.0f} tok/s" if rate >= 10 else f" {rate:.1f} tok/s"


def _key(hint: KeyHint) -> list[Piece]:
    return [Piece(hint.label, "key"), Piece(" "), Piece(hint.description, "quiet")]


def _context(status: Status) -> list[Piece]:
    if not status.used and status.limit is None:
        return []
    mark = "~" if status.is_assumed else ""
    used = "?" if status.used is None else tokens(status.used)
    limit = f"{mark}{_window(status.limit)}" if status.limit else "?"
    return [Piece("ctx ", "quiet"), Piece(f"{used}/{limit}", _warmth(status))]


def _window(limit: int) -> str:
    # Windows are powers of two more often than not: 32768 is known as 32k.
    return f"{limit // 1024}k" if limit % 1024 == 0 else tokens(limit)


def _share(status: Status) -> float:
    return (status.used or 0) / status.limit if status.limit else 0.0


def _warmth(status: Status) -> str:
    share = _share(status)
    if share > 1:
        return "error"
    return "warning" if share >= 0.9 else ""


def _meter(status: Status) -> list[Piece]:
    if not status.limit:
        return []
    full = min(_METER_CELLS, math.ceil(_share(status) * _METER_CELLS))
    return [
        Piece(" "),
        Piece("▮" * full, _warmth(status) or "meter"),
        Piece("▯" * (_METER_CELLS - full), "quiet"),
    ]
