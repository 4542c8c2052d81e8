"""One block of the transcript: a painter, and what stands around its rows."""

from dataclasses import dataclass, field
from enum import StrEnum

from rich.segment import Segment

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.widgets.painters.painter import Painter
from ollm_tui.tui.widgets.painters.palette import Canvas, Palette
from ollm_tui.tui.widgets.painters.rows import BLANK, Row

MARGIN = 3
"""Code points (and cells) left of every row: foreign text never reaches column 0."""


class BlockKind(StrEnum):
    """What a block says, and so how it is marked."""

    USER = "user"
    THINKING = "thinking"
    ANSWER = "answer"
    TOOL = "tool"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    STATS = "stats"
    STOPPED = "stopped"


@dataclass(slots=True, eq=False)
class Block:
    """A block and its rows: a gap, a header (thinking only), the painter's rows, a closing gap."""

    id: str
    kind: BlockKind
    painter: Painter
    canvas: Canvas
    gap: int = 0
    text: list[str] = field(default_factory=list)
    finished: bool = False
    folded: bool = False
    summary: str = "thinking"
    _header: Row | None = None

    @property
    def lead(self) -> int:
        """Rows above the painter's."""
        return self.gap + (self.kind is BlockKind.THINKING)

    @property
    def height(self) -> int:
        """How many rows it takes."""
        if self.kind is not BlockKind.THINKING:
            return self.gap + self.painter.row_count if self.painter.row_count else 0
        return self.lead + (0 if self.folded else self.painter.row_count + 1)

    def row(self, index: int) -> Row:
        """One row of it."""
        if index < self.gap:
            return BLANK
        if index < self.lead:
            return self.header()
        index -= self.lead
        return self.painter.row(index) if index < self.painter.row_count else BLANK

    def header(self) -> Row:
        """The line that folds and unfolds."""
        if self._header is None:
            sign = "▸" if self.folded else "▾"
            text = f"{sign} {self.summary}"[: self.canvas.width]
            self._header = Row((Segment(text, self.canvas.palette.dim),), gutter=len(text))
        return self._header

    def restyle(self, canvas: Canvas, first: int, end: int) -> None:
        """Paint for another canvas; `first` and `end` are rows of this block that are in view."""
        self.canvas = canvas
        self._header = None
        self.painter.restyle(canvas, max(first - self.lead, 0), max(end - self.lead, 0))

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
        if row < self.lead or not self.painter.row_count:
            return -1, row, 0
        return self.painter.anchor(min(row - self.lead, self.painter.row_count - 1))

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row of such a place now."""
        if anchor[0] < 0:
            return anchor[1]
        return 0 if self.folded else self.lead + self.painter.locate(anchor)
