"""A block of the transcript: its text, its painter while it has one, and the rows around it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Literal, Protocol, TypeAlias

from rich.segment import Segment

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.painters import (
    BLANK,
    OPEN_ROWS,
    PEEK_ROWS,
    Canvas,
    Painter,
    Palette,
    Row,
    ToolCall,
    ToolPainter,
)

MARGIN = 3
"""Code points (and cells) left of every row: untrusted text never reaches column 0."""
MARK: Final = "◆"
_LEFT, _RIGHT = "\u2039", "\u203a"  # single quotation marks that point outwards
_BETWEEN: Final = "  "
_AROUND, _ESTIMATED = -1, -2  # first numbers of anchors that are not a position in the text


class Source(Protocol):
    """What a block shows; it can make a painter at any time, so painters need not be kept."""

    @property
    def text(self) -> str:
        """The text as it was given."""

    @property
    def size(self) -> int:
        """Characters so far, at no cost; a different number means that there is something new."""

    def painter(self, canvas: Canvas) -> Painter:
        """A painter that was given everything so far."""

    def estimate(self, canvas: Canvas) -> int:
        """About how many rows it takes, without painting it."""


@dataclass(slots=True)
class TextSource:
    """Text that may still grow."""

    make: Callable[[Canvas], Painter]
    pieces: list[str] = field(default_factory=list)
    finished: bool = False
    size: int = 0
    _line_ends: int = 0

    @property
    def text(self) -> str:
        """The whole text; pieces are joined into one."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def append(self, piece: str) -> None:
        """Add a piece."""
        self.pieces.append(piece)
        self.size += len(piece)
        self._line_ends += piece.count("\n")

    def painter(self, canvas: Canvas) -> Painter:
        """A painter of this text."""
        painter = self.make(canvas)
        painter.append(self.text)
        if self.finished:
            painter.finish()
        return painter

    def estimate(self, canvas: Canvas) -> int:
        """One row for each line, and more where a line does not fit."""
        return self._line_ends + 1 + self.size // max(canvas.width, 1) if self.size else 0


class ToolSource(ToolCall):
    """A call of a tool as the source of a block."""

    @property
    def text(self) -> str:
        """The output; one line about the call if there is none."""
        call = (self.name, self.argument, self.outcome)
        return self.output or " ".join(part for part in call if part)

    @property
    def size(self) -> int:
        """Characters of the output."""
        return len(self.output)

    def painter(self, canvas: Canvas) -> Painter:
        """A painter of this call."""
        return ToolPainter(canvas, self)

    def estimate(self, canvas: Canvas) -> int:
        """The line of the call and the rows of output that are shown."""
        del canvas
        most = {"folded": 0, "peek": PEEK_ROWS, "open": OPEN_ROWS}[self.fold]
        return 1 + min(most, self.output.count("\n", 0, 100_000) + 1)


def exact_row(row: int) -> tuple[int, int, int]:
    """An anchor that is the row with this number, whatever its text."""
    return _AROUND, row, 0


class BlockKind(StrEnum):
    """What a block contains; decides how it is marked."""

    USER = "user"
    THINKING = "thinking"
    ANSWER = "answer"
    TREE = "tree"
    """An answer that is JSON."""
    TOOL = "tool"
    PICTURE = "picture"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    STATS = "stats"
    STOPPED = "stopped"


NoteKind: TypeAlias = Literal["info", "warning", "error", "stats", "stopped"]
"""The kinds of blocks that are remarks of the program, not part of the conversation."""


@dataclass(slots=True)
class Byline:
    """What is said above a message; an empty one has no row."""

    number: int = 0
    count: int = 0
    """How many messages follow the same one; 0 if this is the only one."""
    is_marked: bool = False
    time: str = ""
    _row: Row | None = None
    _canvas: Canvas | None = None

    def __bool__(self) -> bool:
        return bool(self.count or self.is_marked or self.time)

    @property
    def facts(self) -> tuple[int, int, bool, str]:
        """All that is said."""
        return self.number, self.count, self.is_marked, self.time

    @property
    def _counter(self) -> str:
        return f"{_LEFT}{self.number}/{self.count}{_RIGHT}" if self.count else ""

    def row(self, canvas: Canvas | None) -> Row:
        """Return the row; it is never copied."""
        if self._row is None or canvas is not self._canvas:
            palette = canvas.palette if canvas is not None else Palette()
            parts = [
                (self._counter, palette.dim),
                (MARK if self.is_marked else "", palette.accent),
                (self.time, palette.dim),
            ]
            segments: list[Segment] = []
            for text, style in parts:
                if text:
                    segments += [Segment(_BETWEEN, palette.dim)] if segments else []
                    segments.append(Segment(text, style))
            width = sum(len(text) for text, _style, _control in segments)
            self._row = Row(tuple(segments), gutter=width, aside=True)
            self._canvas = canvas
        return self._row

    def step_at(self, cell: int) -> int:
        """Return which way a click on the counter leads: -1, 1, or 0 beside it."""
        width = len(self._counter)
        return 0 if not 0 <= cell < width else -1 if cell < width // 2 else 1


@dataclass(slots=True, eq=False)
class Block:
    """A block and its rows: a gap, a byline, a header, the painter's rows, a gap.

    Thinking and long prompts have a header.

    Without a painter it sleeps: it has a height, perhaps an estimated one, and no rows.
    """

    id: str
    kind: BlockKind
    source: Source
    gap: int = 0
    finished: bool = False
    folded: bool = False
    is_long: bool = False
    """Whether it has so much text that it starts folded."""
    stays_folded: bool = False
    """Whether it is thinking that is not to be shown, unless it is unfolded."""
    summary: str = "thinking"
    painter: Painter | None = None
    canvas: Canvas | None = None
    """What it was painted or estimated for."""
    is_painted: bool = False
    """Whether the painter has nothing left to do, so that its rows stay as they are."""
    byline: Byline | None = None
    """What is said above it, if anything."""
    _rows: int = 0
    _header: Row | None = None

    @property
    def lead(self) -> int:
        """Rows above the painter's."""
        return self.gap + (self.byline is not None) + self.has_header

    @property
    def has_header(self) -> bool:
        """Whether it has a line that folds and unfolds all of it."""
        return self.kind is BlockKind.THINKING or self.is_long

    @property
    def row_count(self) -> int:
        """The painter's rows, or the estimate if that is higher while it still paints."""
        return self._rows if self.painter is None else max(self._rows, self.painter.rows.row_count)

    @property
    def height(self) -> int:
        """How many rows it takes."""
        rows = self.row_count
        if not self.has_header:
            return self.lead + rows if rows else 0
        return self.lead + (0 if self.folded else rows + (self.kind is BlockKind.THINKING))

    @property
    def hides_its_rows(self) -> bool:
        """Whether it is folded so that there is nothing to paint."""
        return self.has_header and self.folded

    def row(self, index: int) -> Row:
        """One row of it."""
        if index < self.gap:
            return BLANK
        if self.byline is not None and index == self.gap:
            return self.byline.row(self.canvas)
        if index < self.lead:
            return self.header()
        index -= self.lead
        if self.painter is None:
            return BLANK
        rows = self.painter.rows
        return rows.row(index) if index < rows.row_count else BLANK

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

    def paint_for(self, canvas: Canvas, first: int) -> Painter:
        """Return a painter for a canvas; `first` is the first row of this block in view."""
        if self.painter is None:
            self.painter = self.source.painter(canvas)
        elif self.canvas is not canvas:
            self.painter.restyle(canvas, max(first - self.lead, 0))
        if self.canvas is not canvas:
            self._header = None
            self.is_painted = False
            self.canvas = canvas
        return self.painter

    def settle(self) -> None:
        """Drop the estimate: the painter has painted everything."""
        self._rows = 0

    def sleep(self) -> None:
        """Drop the rows and keep the height."""
        self._rows = self.row_count
        self.painter = None
        self.is_painted = False

    def fold(self, folded: bool, summary: str | None = None) -> None:
        """Hide or show the painter's rows."""
        self.folded = folded
        self.summary = self.summary if summary is None else clean_line(summary)
        self._header = None

    def margin(self, row: Row, palette: Palette) -> Segment:
        """The margin of a row: the bar of its role, or blank."""
        styles = {"user": palette.accent, "error": palette.error, "warning": palette.warning}
        if self.kind not in styles or row is BLANK:
            return Segment(" " * MARGIN, palette.text)
        return Segment(" ▌ ", styles[self.kind])

    def anchor(self, row: int) -> tuple[int, int, int]:
        """The position of a row in the text, which survives painting at another width."""
        if row < self.lead or not self.row_count:
            return exact_row(row)
        painter_row = min(row - self.lead, self.row_count - 1)
        if self.painter is None or painter_row >= self.painter.rows.row_count:
            return _ESTIMATED, painter_row, self.row_count
        return self.painter.rows.anchor(painter_row)

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row that an anchor is in now."""
        kind, row, of = anchor
        if kind == _AROUND:
            return row
        if self.folded:
            return 0
        if kind == _ESTIMATED or self.painter is None:
            return self.lead + (row * self.row_count // of if kind == _ESTIMATED and of else 0)
        return self.lead + self.painter.rows.locate(anchor)
