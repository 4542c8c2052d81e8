"""The interface of the painters of blocks, and the bookkeeping that they share."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters.rows import Canvas, Row


class Offsets:
    """The start of each of many runs of rows, recomputed from the first changed run only."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._starts: list[int] = [0]
        self._valid = 0
        self.total = 0
        """All rows together."""

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, length: int) -> None:
        """Add a run at the end."""
        self._lengths.append(length)
        self._starts.append(0)
        self.total += length

    def pop(self) -> None:
        """Remove the last run."""
        self.total -= self._lengths.pop()
        self._starts.pop()
        self._valid = min(self._valid, len(self._lengths))

    def set(self, index: int, length: int) -> None:
        """Change the length of a run."""
        if self._lengths[index] != length:
            self.total += length - self._lengths[index]
            self._lengths[index] = length
            self._valid = min(self._valid, index)

    def length(self, index: int) -> int:
        """How many rows a run has."""
        return self._lengths[index]

    def start(self, index: int) -> int:
        """The first row of a run; of the run after the last: the total."""
        starts, lengths = self._starts, self._lengths
        for each in range(self._valid, index):
            starts[each + 1] = starts[each] + lengths[each]
        self._valid = max(self._valid, index)
        return starts[index]

    def find(self, row: int) -> tuple[int, int]:
        """The run that a row is in, and the row's offset there."""
        starts, last = self._starts, len(self._lengths)
        # Only as far as the row: what follows may change many times before anyone asks for it.
        while self._valid < last and starts[self._valid] <= row:
            self.start(self._valid + 1)
        index = min(bisect_right(starts, row, 0, self._valid + 1) - 1, last - 1)
        return index, row - starts[index]


@dataclass(slots=True)
class Change:
    """Rows that look different since it was last taken; `end` None: all from `first` on moved."""

    first: int
    end: int | None

    def merge(self, other: "Change") -> "Change":
        """The smallest change that holds both."""
        end = None if self.end is None or other.end is None else max(self.end, other.end)
        return Change(min(self.first, other.first), end)


class PaintedRows(Protocol):
    """The rows that a painter has painted so far; a base class, which records what has changed."""

    _change: Change | None = None

    def touch(self, change: Change) -> None:
        """Add to what has changed since it was last taken."""
        self._change = change if self._change is None else self._change.merge(change)

    def take_change(self) -> Change | None:
        """What has changed since the last call."""
        change, self._change = self._change, None
        return change

    @property
    def row_count(self) -> int:
        """How many rows there are now."""

    def row(self, index: int) -> Row:
        """One row."""

    def anchor(self, row: int) -> tuple[int, int, int]:
        """A position in the text that survives painting at another width: run, line, characters."""

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row that an anchor is in now."""


class Painter(Protocol):
    """Turns the text of one block into rows, in slices."""

    @property
    def rows(self) -> PaintedRows:
        """The rows so far."""

    @property
    def refining(self) -> bool:
        """Whether everything is shown, and only the formatting of long pieces is missing."""

    def append(self, text: str) -> None:
        """Take text; nothing is painted yet."""

    def finish(self) -> None:
        """No more text will come."""

    def work(self, deadline: float) -> bool:
        """Paint until the deadline (of `time.monotonic`); True when there is more to do."""

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Paint everything again, the rows from `first` on before the others."""


class WholePainter:
    """What painters have in common whose content does not arrive piece by piece."""

    refining = False

    def append(self, text: str) -> None:
        """Nothing more comes."""

    def finish(self) -> None:
        """Nothing is held back."""


class RowList(PaintedRows):
    """Painted rows in a list, for painters whose rows are one run."""

    def __init__(self) -> None:
        self.items: list[Row] = []

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return len(self.items)

    def row(self, index: int) -> Row:
        """One row."""
        return self.items[index]

    def anchor(self, row: int) -> tuple[int, int, int]:
        """The line and the characters before a row."""
        return (0, *line_anchor(self.items, row)) if self.items else (0, 0, 0)

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row that an anchor is in."""
        return locate_line(self.items, anchor[1], anchor[2])


def line_anchor(rows: Sequence[Row], index: int) -> tuple[int, int]:
    """The line a row belongs to, and how many characters of that line come before the row."""
    index = min(index, len(rows) - 1)
    start = index
    while start > 0 and rows[start].join is not None:
        start -= 1
    line = sum(row.join is None for row in rows[:start])
    before = sum(len(row.text) - row.gutter + len(row.join or "") for row in rows[start:index])
    return line, before


def locate_line(rows: Sequence[Row], line: int, before: int) -> int:
    """The row that has such a position."""
    row_index = 0
    current = -1
    chars = 0
    for index, row in enumerate(rows):
        if row.join is None:
            current += 1
            chars = 0
            if current > line:
                break
        if current == line:
            if chars > before and row.join is not None:
                break
            row_index = index
            chars += len(row.text) - row.gutter + len(row.join or "")
    return row_index
