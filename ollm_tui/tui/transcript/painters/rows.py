"""One painted screen row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

Span = tuple[str, Style]


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
        """What stands in the row, decoration included."""
        return "".join(segment.text for segment in self.segments)

    def same_as(self, other: "Row") -> bool:
        """Would both look and copy the same?"""
        return self is other or (
            self.segments == other.segments
            and self.gutter == other.gutter
            and self.join == other.join
            and self.fill == other.fill
        )


Step = Row | None
"""What painting gives at a time: a row, or None where it could stop before it has another row."""

BLANK = Row()


def row_cells(segments: Iterable[Segment]) -> int:
    """Width in cells, measured per segment as the terminal driver does."""
    return sum(
        len(text) if text.isascii() else cell_len(text) for text, _style, _control in segments
    )


def common_prefix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """How many rows at the start are the same in both, at most `limit`."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if index == limit or not before.same_as(after):
            return index
    return min(len(old), len(new))


def common_suffix(old: Sequence[Row], new: Sequence[Row], limit: int) -> int:
    """How many rows at the end are the same in both, at most `limit`."""
    count = 0
    while count < limit and old[-1 - count].same_as(new[-1 - count]):
        count += 1
    return count
