"""What painters paint, screen rows, and what they paint on: a width and the styles of the theme."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from ollm_tui.dataclass import dataclass

if TYPE_CHECKING:
    from ollm_tui.tui.graphics import PictureProtocol

PLAIN = Style()
BOLD = Style(bold=True)
DIM = Style(dim=True)
ITALIC = Style(italic=True)
STRIKE = Style(strike=True)
UNDERLINE = Style(underline=True)
_COPY_META: Final = "copy"
_SOURCE_META: Final = "source"
Span = tuple[str, Style]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One style per meaning; the defaults work without colours."""

    text: Style = PLAIN
    dim: Style = DIM
    accent: Style = PLAIN
    heading: Style = BOLD
    code: Style = PLAIN
    """Code inside a sentence."""
    block: Style = PLAIN
    """A code block; its background fills the rows."""
    label: Style = DIM
    """The language above a code block."""
    quote: Style = ITALIC
    bar: Style = DIM
    """The bar left of a quotation."""
    link: Style = UNDERLINE
    rule: Style = DIM
    marker: Style = PLAIN
    """List bullets and numbers."""
    error: Style = BOLD
    warning: Style = PLAIN
    keyword: Style = BOLD
    name: Style = PLAIN
    string: Style = PLAIN
    number: Style = PLAIN
    comment: Style = ITALIC
    inserted: Style = PLAIN
    deleted: Style = PLAIN


@dataclass(frozen=True, slots=True)
class Canvas:
    """What rows are painted for: a width in cells and a palette."""

    width: int
    palette: Palette
    has_colours: bool = True
    """Whether rows may have colours of their own: not with `NO_COLOR` or a terminal theme."""
    highlights: bool = True
    """Whether code gets colours; they are most of its cost, and change no text."""
    maths: bool = True
    """Whether formulas are shown as Unicode, not as they are written."""
    pictures: "PictureProtocol" = "blocks"
    """How pictures are drawn."""
    folds_tables: bool = True
    """Whether tables fit the width; otherwise they scroll sideways."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Segments of one screen row, without padding."""

    segments: tuple[Segment, ...] = ()
    gutter: int = 0
    """Code points at the start that are decoration and never part of a copy."""
    join: str | None = None
    """The text a soft wrap swallowed before this row; None when the row starts a line."""
    fill: Style | None = None
    """Style that fills the rest of the measure, such as a code background."""
    aside: bool = False
    """Nothing of it is ever copied, not even the end of its line."""
    wide: bool = False
    """It is wider than the canvas: a view shows a part of it."""

    @property
    def text(self) -> str:
        """The text of the row, decoration included."""
        return "".join(segment.text for segment in self.segments)

    def same_as(self, other: "Row") -> bool:
        """Whether both look and copy the same."""
        return self is other or (
            self.segments == other.segments
            and self.gutter == other.gutter
            and self.join == other.join
            and self.fill == other.fill
        )


Step = Row | None
"""One step of painting: a row, or None where it could stop before it has another row."""

BLANK = Row()


def row_cells(segments: Iterable[Segment]) -> int:
    """Width in cells, measured per segment as the terminal driver does."""
    return sum(
        len(text) if text.isascii() else cell_len(text) for text, _style, _control in segments
    )


def at_cell(text: str, cell: int) -> int:
    """The code point that covers a cell, or the end of the text."""
    end = 0
    for start, _end, size in split_graphemes(text)[0]:
        end += size
        if end > cell:
            return start
    return len(text)


def common_prefix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """The number of rows at the start that are the same in both, at most `limit`."""
    count, most = 0, min(len(old), len(new), limit)
    while count < most and old[count].same_as(new[count]):
        count += 1
    return count


def common_suffix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """The number of rows at the end that are the same in both, at most `limit`."""
    count = 0
    while count < limit and old[-1 - count].same_as(new[-1 - count]):
        count += 1
    return count


def copy_style(style: Style) -> Style:
    """The style of the word that copies a code block; its meaning never goes to the terminal."""
    return style + Style.from_meta({_COPY_META: True})


def source_style(style: Style, source: str, shown: str) -> Style:
    """The style of a formula, which knows how it is written and what is shown of it."""
    return style + Style.from_meta({_SOURCE_META: (source, len(shown))})


def source_of(style: Style | None) -> tuple[str, int] | None:
    """How the formula in this style is written, and the number of characters that show it."""
    return None if style is None else style.meta.get(_SOURCE_META)


def has_copy_word(row: Row, cell: int) -> bool:
    """Whether the word that copies is at a cell of a row."""
    for text, style, _control in row.segments:
        cell -= cell_len(text)
        if cell < 0:
            return style is not None and bool(style.meta.get(_COPY_META))
    return False
