"""What painters paint, screen rows, and what they paint on: a width and the styles of the theme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

BOLD = Style(bold=True)
ITALIC = Style(italic=True)
STRIKE = Style(strike=True)
_COPY_META: Final = "copy"
Span = tuple[str, Style]


def _style(text: str = "") -> Style:
    return Style.parse(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """One style per meaning; the defaults work without colours."""

    text: Style = field(default_factory=_style)
    dim: Style = field(default_factory=lambda: _style("dim"))
    accent: Style = field(default_factory=_style)
    heading: Style = field(default_factory=lambda: _style("bold"))
    code: Style = field(default_factory=_style)
    """Code inside a sentence."""
    block: Style = field(default_factory=_style)
    """A code block; its background fills the rows."""
    label: Style = field(default_factory=lambda: _style("dim"))
    """The language above a code block."""
    quote: Style = field(default_factory=lambda: _style("italic"))
    bar: Style = field(default_factory=lambda: _style("dim"))
    """The bar left of a quotation."""
    link: Style = field(default_factory=lambda: _style("underline"))
    rule: Style = field(default_factory=lambda: _style("dim"))
    marker: Style = field(default_factory=_style)
    """List bullets and numbers."""
    error: Style = field(default_factory=lambda: _style("bold"))
    warning: Style = field(default_factory=_style)
    keyword: Style = field(default_factory=lambda: _style("bold"))
    name: Style = field(default_factory=_style)
    string: Style = field(default_factory=_style)
    number: Style = field(default_factory=_style)
    comment: Style = field(default_factory=lambda: _style("italic"))
    inserted: Style = field(default_factory=_style)
    deleted: Style = field(default_factory=_style)


@dataclass(frozen=True, slots=True)
class Canvas:
    """What rows are painted for: a width in cells and a palette."""

    width: int
    palette: Palette
    has_colours: bool = True
    """Whether rows may have colours of their own: not with `NO_COLOR` or a terminal theme."""
    highlights: bool = True
    """Whether code gets colours; they are most of its cost, and change no text."""


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


def common_prefix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """The number of rows at the start that are the same in both, at most `limit`."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if index == limit or not before.same_as(after):
            return index
    return min(len(old), len(new))


def common_suffix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """The number of rows at the end that are the same in both, at most `limit`."""
    count = 0
    while count < limit and old[-1 - count].same_as(new[-1 - count]):
        count += 1
    return count


def copy_style(style: Style) -> Style:
    """The style of the word that copies a code block; its meaning never goes to the terminal."""
    return style + Style.from_meta({_COPY_META: True})


def has_copy_word(row: Row, cell: int) -> bool:
    """Whether the word that copies is at a cell of a row."""
    for text, style, _control in row.segments:
        cell -= cell_len(text)
        if cell < 0:
            return style is not None and bool(style.meta.get(_COPY_META))
    return False
