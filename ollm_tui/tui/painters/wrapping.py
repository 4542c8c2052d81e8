"""Line breaking by terminal cells: greedy, by words, not inside a grapheme if it can be helped.

Where a row ends depends only on the text from its start up to the first character that no longer
fits. So every row but the last of a growing line is final: incremental wrapping is exact.
"""

import re
from collections.abc import Iterator, Sequence

from rich.cells import split_graphemes
from rich.segment import Segment

from ollm_tui.tui.painters.rows import Row, Span

_NOT_SINGLE = re.compile(
    "[^\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u25fc\u2800-\u28ff]"
)
_JOINERS = re.compile("[\u200d\ufe0f]+")
"""With nothing to join they get a row of their own, as their width differs then."""
_SPACES = re.compile(" *")
_WIDE = 2


def next_break(text: str, start: int, width: int, *, words: bool = True) -> tuple[int, int]:
    """The end of the row that starts at `start`, and the start of the next one."""
    limit = start + width
    head = text[start : limit + 1]
    if head.isascii() or _NOT_SINGLE.search(head) is None:
        if len(head) <= width:
            return len(text), len(text)
        return _word_break(text, start, limit) if words else (limit, limit)
    return _cell_break(text, start, width, words=words)


def _skip_spaces(text: str, position: int) -> int:
    spaces = _SPACES.match(text, position)
    return position if spaces is None else spaces.end()


def _word_break(text: str, start: int, limit: int) -> tuple[int, int]:
    end = limit if text[limit] == " " else text.rfind(" ", start, limit)
    visible = text[start:end].rstrip(" ") if end > start else ""
    if not visible:
        return limit, limit
    return start + len(visible), _skip_spaces(text, end)


def _cell_break(text: str, start: int, width: int, *, words: bool) -> tuple[int, int]:
    # Zero-width characters make a row longer than its cells; the second window bounds how much.
    longest = 4 * width + 64
    if (joiners := _JOINERS.match(text, start, start + longest)) is not None:
        return joiners.end(), joiners.end()
    for window in (width + 8, longest):
        head = text[start : start + window]
        if (overflow := _overflow(head, width, words=words)) is not None:
            end, following = overflow
            if words and head[end:following].isspace():
                return start + len(head[:end].rstrip(" ")), _skip_spaces(text, start + following)
            return start + end, start + following
        if start + window >= len(text):
            return len(text), len(text)
    return start + window, start + window


def _overflow(head: str, width: int, *, words: bool) -> tuple[int, int] | None:
    """The break before the first grapheme that does not fit; None when all fit."""
    chance: tuple[int, int] | None = None
    cells = 0
    for begin, end, size in split_graphemes(head)[0]:
        space = head[begin:end] == " "
        if cells + size > width:
            if words and space and head[:begin].strip():
                return begin, end
            if words and chance is not None and size < _WIDE:
                return chance
            return (begin, begin) if begin else (end, end)
        if space:
            chance = (begin, end) if head[:begin].strip() else chance
        elif size == _WIDE:
            chance = (end, end)
        cells += size
    return None


def wrap(text: str, width: int, *, words: bool = True) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, start of the next row) of every row; an empty text has one empty row."""
    start = 0
    while True:
        end, following = next_break(text, start, width, words=words)
        yield start, end, following
        if following >= len(text):
            return
        start = following


def wrap_spans(
    spans: Sequence[Span], width: int, *, words: bool = True
) -> Iterator[tuple[list[Segment], str | None]]:
    """Yield each row's segments with the text swallowed before it (None for the first)."""
    text = "".join([part for part, _style in spans])
    cutter = _Cutter(spans)
    swallowed: str | None = None
    for start, end, following in wrap(text, max(width, 1), words=words):
        yield cutter.cut(start, end), swallowed
        swallowed = text[end:following]


def wrapped_rows(spans: Sequence[Span], width: int) -> Iterator[Row]:
    """The rows of a line that is broken by words."""
    return (Row(tuple(segments), join=join) for segments, join in wrap_spans(spans, width))


class _Cutter:
    """Cuts ever later ranges out of spans without visiting a span twice."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._index = 0
        self._offset = 0

    def cut(self, start: int, end: int) -> list[Segment]:
        segments: list[Segment] = []
        while self._index < len(self._spans):
            text, style = self._spans[self._index]
            low, high = start - self._offset, end - self._offset
            piece = text[max(low, 0) : max(high, 0)]
            if piece:
                segments.append(Segment(piece, style))
            if high < len(text):
                break
            self._offset += len(text)
            self._index += 1
        return segments
