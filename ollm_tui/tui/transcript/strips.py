"""From painted rows to strips and copied text."""

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ollm_tui.tui.transcript.block import MARGIN
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.rows import Row, row_cells

Selected: TypeAlias = tuple[Row, tuple[int, int]]
"""A row, and the first and last selected code point of its strip; -1 is the whole rest."""
_WORD = re.compile(r"[\w./:@~-]+")


def draw(row: Row, margin: Segment, canvas: Canvas, width: int) -> Strip:
    """The strip of a row: margin, text, its own fill up to the measure, then the background."""
    segments = [margin, *row.segments]
    used = row_cells(segments)
    measure = min(MARGIN + canvas.width, width)
    if row.fill is not None and used < measure:
        segments.append(Segment(" " * (measure - used), row.fill))
        used = measure
    if used < width:
        segments.append(Segment(" " * (width - used), canvas.palette.text))
    strip = Strip(segments, max(used, width))
    return strip if used <= width else strip.crop(0, width)


def copied(spans: Iterable[Selected | None]) -> str:
    """The text of the spans, with soft-wrapped rows joined again."""
    return "\n".join(line for line in copied_lines(spans) if line is not None)


def copied_lines(spans: Iterable[Selected | None]) -> Iterator[str | None]:
    """The lines of that text one by one; None where the caller may pause."""
    line: list[str] | None = None
    for each in spans:
        if each is None or each[0].aside:
            yield None
            continue
        row, (start, end) = each
        text = row.text
        low = max(start - MARGIN, row.gutter)
        high = len(text) if end < 0 else end - MARGIN
        if line is None:
            line = []
        elif row.join is None:
            yield "".join(line).rstrip()
            line = []
        else:
            line.append(row.join)
        line.append(text[low : max(high, low)])
        yield None
    if line is not None:
        yield "".join(line).rstrip()


def restyled(segments: Iterable[Segment], start: int, end: int, style: Style) -> list[Segment]:
    """Lay a style over the code points from `start` to `end`."""
    return restyled_all(segments, [(start, end, style)])


def restyled_all(
    segments: Iterable[Segment], spans: Iterable[tuple[int, int, Style]]
) -> list[Segment]:
    """Lay styles over many spans in one go; they come in order, where two meet the first wins."""
    out: list[Segment] = []
    waiting = iter(spans)
    span = next(waiting, None)
    position = 0
    for text, base, control in segments:
        size, done = len(text), 0
        while span is not None and span[0] < position + size:
            low = max(span[0] - position, done)
            high = max(min(span[1] - position, size), low)
            pieces = ((text[done:low], base), (text[low:high], _over(base, span[2])))
            out += [Segment(piece, look, control) for piece, look in pieces if piece]
            done = high
            if span[1] > position + size:
                break
            span = next(waiting, None)
        if done < size:
            out.append(Segment(text[done:], base, control))
        position += size
    return out


def word_around(text: str, position: int) -> tuple[int, int]:
    """The run of letters, digits and what joins them around a position."""
    for found in _WORD.finditer(text):
        if found.start() <= position < found.end():
            return found.span()
    return position, position + 1


def _over(base: Style | None, style: Style) -> Style:
    return style if base is None else base + style
