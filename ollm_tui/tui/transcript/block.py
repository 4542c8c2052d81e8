"""One block of the transcript: what it says, its painter while there is one, what is around."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from rich.segment import Segment

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.transcript.painters.painter import Painter
from ollm_tui.tui.transcript.painters.palette import Canvas, Palette
from ollm_tui.tui.transcript.painters.rows import BLANK, Row
from ollm_tui.tui.transcript.source import Source

MARGIN = 3
"""Code points (and cells) left of every row: foreign text never reaches column 0."""
_AROUND = -1
_ESTIMATED = -2
"""First numbers of anchors that are no place in the text."""


def exact_row(row: int) -> tuple[int, int, int]:
    """An anchor that is the row with this number, whatever it says."""
    return _AROUND, row, 0


class BlockKind(StrEnum):
    """What a block says, and so how it is marked."""

    USER = "user"
    THINKING = "thinking"
    ANSWER = "answer"
    TOOL = "tool"
    PICTURE = "picture"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    STATS = "stats"
    STOPPED = "stopped"


NoteKind: TypeAlias = Literal["info", "warning", "error", "stats", "stopped"]
"""The kinds of blocks that are remarks of the program, not part of the conversation."""


@dataclass(slots=True, eq=False)
class Block:
    """A block and its rows: a gap, a header (thinking and long prompts), the painter's rows, a gap.

    Without a painter it sleeps: it has a height, perhaps an estimated one, and no rows.
    """

    id: str
    kind: BlockKind
    source: Source
    gap: int = 0
    finished: bool = False
    folded: bool = False
    is_long: bool = False
    """Has it so much text that it is folded from the beginning?"""
    summary: str = "thinking"
    painter: Painter | None = None
    canvas: Canvas | None = None
    """What it was painted or estimated for."""
    is_painted: bool = False
    """Has the painter nothing left to do? Its rows stay as they are then."""
    _rows: int = 0
    _header: Row | None = None

    @property
    def lead(self) -> int:
        """Rows above the painter's."""
        return self.gap + self.has_header

    @property
    def has_header(self) -> bool:
        """Has it a line that folds and unfolds all of it?"""
        return self.kind is BlockKind.THINKING or self.is_long

    @property
    def row_count(self) -> int:
        """The painter's rows; until it has painted them all, at least as many as were expected."""
        return self._rows if self.painter is None else max(self._rows, self.painter.row_count)

    @property
    def height(self) -> int:
        """How many rows it takes."""
        rows = self.row_count
        if not self.has_header:
            return self.gap + rows if rows else 0
        return self.lead + (0 if self.folded else rows + (self.kind is BlockKind.THINKING))

    @property
    def hides_its_rows(self) -> bool:
        """Is it folded so that there is nothing to paint?"""
        return self.has_header and self.folded

    def row(self, index: int) -> Row:
        """One row of it."""
        if index < self.gap:
            return BLANK
        if index < self.lead:
            return self.header()
        index -= self.lead
        if self.painter is None or index >= self.painter.row_count:
            return BLANK
        return self.painter.row(index)

    def header(self) -> Row:
        """The line that folds and unfolds."""
        if self._header is None:
            canvas = self.canvas or Canvas(len(self.summary) + 2, Palette())
            sign = "▸" if self.folded else "▾"
            text = f"{sign} {self.summary}"[: canvas.width]
            self._header = Row((Segment(text, canvas.palette.dim),), gutter=len(text))
        return self._header

    def estimate(self, canvas: Canvas) -> None:
        """Guess the height of a sleeping block."""
        self.canvas = canvas
        self._header = None
        self._rows = self.source.estimate(canvas)

    def paint_for(self, canvas: Canvas, first: int, end: int) -> Painter:
        """Give a painter for a canvas; `first` and `end` are rows of this block in view."""
        if self.painter is None:
            self.painter = self.source.painter(canvas)
        elif self.canvas is not canvas:
            self.painter.restyle(canvas, max(first - self.lead, 0), max(end - self.lead, 0))
        if self.canvas is not canvas:
            self._header = None
            self.is_painted = False
            self.canvas = canvas
        return self.painter

    def settle(self) -> None:
        """Take note that the painter has painted everything there is."""
        self._rows = 0

    def sleep(self) -> None:
        """Let the rows go; the height stays."""
        self._rows = self.row_count
        self.painter = None
        self.is_painted = False

    def fold(self, folded: bool, summary: str | None = None) -> None:
        """Hide or show the painter's rows."""
        self.folded = folded
        self.summary = self.summary if summary is None else clean_line(summary)
        self._header = None

    def margin(self, row: Row, palette: Palette) -> Segment:
        """What stands left of a row: the role's bar, or nothing."""
        style = {
            BlockKind.USER: palette.accent,
            BlockKind.ERROR: palette.error,
            BlockKind.WARNING: palette.warning,
        }.get(self.kind)
        if style is None or row is BLANK:
            return Segment(" " * MARGIN, palette.text)
        return Segment(" ▌ ", style)

    def anchor(self, row: int) -> tuple[int, int, int]:
        """A place in the text that outlives painting at another width."""
        if row < self.lead or not self.row_count:
            return exact_row(row)
        place = min(row - self.lead, self.row_count - 1)
        if self.painter is None or place >= self.painter.row_count:
            return _ESTIMATED, place, self.row_count
        return self.painter.anchor(place)

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row of such a place now."""
        kind, row, of = anchor
        if kind == _AROUND:
            return row
        if self.folded:
            return 0
        if kind == _ESTIMATED or self.painter is None:
            return self.lead + (row * self.row_count // of if kind == _ESTIMATED and of else 0)
        return self.lead + self.painter.locate(anchor)
