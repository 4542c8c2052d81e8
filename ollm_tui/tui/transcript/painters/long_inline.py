"""Formats inline text of any length in steps: a parser that cannot be interrupted gets pieces.

A piece ends after white space, where all code spans, brackets and emphasis before it are closed: in
its second half, or else, for a mark or an address that goes on for long, up to four times as far.
"""

import re
from collections.abc import Generator, Iterator
from itertools import islice

from rich.style import Style

from ollm_tui.tui.transcript.painters.inline import inline_spans
from ollm_tui.tui.transcript.painters.palette import Palette
from ollm_tui.tui.transcript.painters.rows import Span

PIECE = 2000
PIECE_COST = 40_000
"""Most characters times opening brackets in a piece: each one may look through all of it."""
OPEN_COST = 80_000
"""The same for a text that is formatted again for every frame."""
_CANDIDATES = 100
_REACH = 4
"""How many pieces long one may become whose marks or last word are not ended earlier."""
_SPACE = re.compile(r"\s+(?=\S)")


def formatted(text: str, base: Style, palette: Palette) -> Generator[None, None, list[list[Span]]]:
    """The lines of one inline text (a hard break begins another), after as many steps as needed."""
    lines: list[list[Span]] = [[]]
    for piece in pieces(text):
        first, *others = inline_spans(piece, base, palette)
        lines[-1] += first
        lines += others
        yield
    return lines


def formatted_at_once(text: str, base: Style, palette: Palette) -> list[list[Span]]:
    """The same in one step, for a text that is not longer than a piece."""
    return [spans for piece in pieces(text) for spans in inline_spans(piece, base, palette)]


def costs_too_much_open(text: str) -> bool:
    """Would formatting this for every frame hold up the screen?"""
    return len(text) * text.count("[") > OPEN_COST


def pieces(text: str) -> Iterator[str]:
    """Cut a text so that each piece can be parsed by itself at once."""
    start = 0
    while start < len(text):
        end = _limit(text, start)
        if end < len(text):
            end = _good_end(text, start, end)
        yield text[start:end]
        start = end


def _limit(text: str, start: int) -> int:
    end = min(start + PIECE, len(text))
    place = text.find("[", start, end)
    count = 0
    while place >= 0:
        count += 1
        end = min(end, start + max(PIECE_COST // count, 1))
        place = text.find("[", place + 1, end)
    return end


def _good_end(text: str, start: int, end: int) -> int:
    """The last place up to `end` to cut at, or the first one after it."""
    middle = start + (end - start) // 2
    places = [found.end() for found in _SPACE.finditer(text, middle, end)][-_CANDIDATES:]
    closed = (place for place in reversed(places) if _all_closed(text, start, place))
    best = next(closed, None) or _later_end(text, start, end)
    return best or (places[-1] if places else end)


def _later_end(text: str, start: int, end: int) -> int | None:
    """Where what is open at `end` is closed; None when that is too far away or costs too much."""
    last = min(start + _REACH * PIECE, len(text))
    if (last - start) * text.count("[", start, last) > PIECE_COST:
        return None
    later = islice(_SPACE.finditer(text, end, last), _CANDIDATES)
    places = [*(found.end() for found in later), *([last] if last == len(text) else [])]
    return next((place for place in places if _all_closed(text, start, place)), None)


def _all_closed(text: str, start: int, end: int) -> bool:
    def count(mark: str) -> int:
        return text.count(mark, start, end)

    return (
        count("[") == count("]")
        and count("(") == count(")")
        and not any(count(mark) % 2 for mark in ("`", "*", "**", "~~"))
    )
