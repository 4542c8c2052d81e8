"""Drive painters to the end, whole or in pieces, and read what they painted."""

from collections.abc import Iterable
from time import monotonic

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.painter import Painter
from ollm_tui.tui.painters.rows import Canvas, Palette, Row

Look = tuple[tuple[tuple[str, str], ...], int, str | None]


def canvas(width: int = 40) -> Canvas:
    return Canvas(width, Palette())


def settle(painter: Painter, slices: int = 100_000) -> None:
    """Work in the smallest slices until nothing is left to do."""
    for _ in range(slices):
        if not painter.work(0.0):
            return
    raise AssertionError("the painter never came to an end")


def paint(text: str, width: int = 40) -> MarkdownPainter:
    return paint_pieces([text], width)


def paint_pieces(pieces: Iterable[str], width: int = 40, *, live: bool = True) -> MarkdownPainter:
    """Paint a text that arrives in pieces, each shown before the next comes if `live`."""
    painter = MarkdownPainter(canvas(width))
    for piece in pieces:
        painter.append(piece)
        if live:
            painter.work(monotonic() + 1)
    painter.finish()
    settle(painter)
    return painter


def rows(painter: Painter) -> list[Row]:
    return [painter.rows.row(index) for index in range(painter.rows.row_count)]


def texts(painter: Painter) -> list[str]:
    """The rows without what stands at their right edge: blanks, and the word that copies code."""
    return [
        "".join(
            text for text, style, _ in row.segments if not (style and "copy" in style.meta)
        ).rstrip()
        for row in rows(painter)
    ]


def looks(painter: Painter) -> list[Look]:
    """Everything that can be seen or copied of the rows."""
    return [
        (tuple((text, str(style)) for text, style, _ in row.segments), row.gutter, row.join)
        for row in rows(painter)
    ]


def styled(painter: Painter, word: str) -> list[str]:
    """The styles of the segments that hold a word."""
    return [str(style) for row in rows(painter) for text, style, _ in row.segments if word in text]
