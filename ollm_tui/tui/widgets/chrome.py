"""One-line chrome: text cut to cells, pieces of a line, and their painting.

A widget says what stands on its line as `Piece`s; which look a piece has is a component class of
the widget, so colours come from the theme alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

# What draws nothing may follow a letter without end; a cut is asked of this much per cell.
_LETTERS_PER_CELL = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line."""

    text: str
    look: str = ""
    """The end of the component class: `title` is `header--title` in the header; empty for none."""

    @property
    def width(self) -> int:
        """The width in cells."""
        return cell_len(self.text)


def cut(text: str, width: int) -> str:
    """Return at most `width` cells of a text; an ellipsis replaces the rest."""
    if width <= 0:
        return ""
    kept = text[: width * _LETTERS_PER_CELL]
    if kept == text and cell_len(text) <= width:
        return text
    return set_cell_size(kept, min(width - 1, cell_len(kept))).rstrip() + "…"


def fit(text: str, width: int) -> str:
    """Return exactly `width` cells: cut, or filled with spaces."""
    short = cut(text, width)
    return short + " " * max(0, width - cell_len(short))


def width_of(pieces: Iterable[Piece]) -> int:
    """The width of all pieces in cells."""
    return sum(piece.width for piece in pieces)


def plain(pieces: Iterable[Piece]) -> str:
    """The text of all pieces."""
    return "".join(piece.text for piece in pieces)


def spread(left: list[Piece], right: list[Piece], width: int) -> list[Piece]:
    """Align pieces to the left and the right edge of a line."""
    gap = width - width_of(left) - width_of(right)
    return [*left, Piece(" " * max(0, gap)), *right]


def paint(widget: Widget, prefix: str, pieces: Iterable[Piece], width: int) -> Strip:
    """Draw pieces in the component styles of a widget, exactly `width` cells."""
    base = widget.rich_style
    segments = [
        Segment(
            piece.text,
            base + widget.get_component_rich_style(f"{prefix}--{piece.look}")
            if piece.look
            else base,
        )
        for piece in pieces
    ]
    return Strip(segments).adjust_cell_length(width, base)
