"""How long an engine keeps a model loaded: the one format that is accepted everywhere.

Ollama reads a JSON number as seconds and text as a Go duration, which needs a unit: `"300"` and
`"-1"` would be refused there.
"""

import math
from collections.abc import Mapping
from typing import Final

from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

FOREVER: Final = -1
_WORDS: Final = frozenset({"forever", "for ever", "always"})
_UNITS: Final[Mapping[str, float]] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600,
}  # fmt: skip
_DECIMAL: Final = r"[0-9]+(?:\.[0-9]+)?"
_PART: Final = lazy_re(f"({_DECIMAL})({'|'.join(_UNITS)})")
_TEXT: Final = lazy_re(f"(?:{_PART.pattern})+")
_NUMBER: Final = lazy_re(_DECIMAL)
_MAX_S: Final = 9_000_000_000
"""A Go duration holds a little more."""


def parse_keep_alive(value: object) -> str | float:
    """Return a duration as engines take it: text like `1h30m`, else seconds; -1 is forever.

    Any negative duration means forever.

    Raises:
        ValueError: it is not a duration; the message completes the sentence "keep_alive ...".
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _WORDS:
            return FOREVER
        size, is_negative = _size(text.removeprefix("-")), text.startswith("-")
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf:
        size, is_negative = abs(value), value < 0
    else:
        raise _not_a_duration()
    seconds = keep_alive_seconds(size)
    if is_negative and seconds:
        return FOREVER
    if seconds > _MAX_S:
        raise ValueError('must be less than 285 years, or "forever"')
    return int(size) if isinstance(size, float) and size.is_integer() else size


def checked_keep_alive(value: str | float) -> str | float:
    """Return the duration that a request has, as `parse_keep_alive` does.

    Raises:
        AIError: BAD_REQUEST if it is not a duration.
    """
    try:
        return parse_keep_alive(value)
    except ValueError as error:
        raise AIError(ErrorCode.BAD_REQUEST, f"keep_alive {error}.") from None


def keep_alive_seconds(parsed: str | float) -> float:
    """Return the seconds of a parsed duration; below zero is forever."""
    if isinstance(parsed, str):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(parsed))
    return parsed


def _size(text: str) -> str | float:
    if _NUMBER.fullmatch(text):
        return float(text)
    if _TEXT.fullmatch(text):
        return text
    raise _not_a_duration()


def _not_a_duration() -> ValueError:
    return ValueError('must be a number of seconds, text like "5m", or "forever"')
