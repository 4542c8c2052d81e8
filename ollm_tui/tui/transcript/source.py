"""What a block says: kept as it came, and painted only when somebody looks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from ollm_tui.tui.transcript.painters.painter import Painter
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.tool_call import (
    OPEN_ROWS,
    PEEK_ROWS,
    Fold,
    ToolOutcome,
    ToolPainter,
)


class Source(Protocol):
    """From this a painter can be made at any time, so a painter can be let go at any time."""

    @property
    def text(self) -> str:
        """What it says, as it was given."""
        ...

    @property
    def size(self) -> int:
        """Characters so far, at no cost: another one means that there is something new."""
        ...

    def painter(self, canvas: Canvas) -> Painter:
        """A painter that was given all there is so far."""
        ...

    def estimate(self, canvas: Canvas) -> int:
        """About how many rows it takes, without painting it."""
        ...


@dataclass(slots=True)
class TextSource:
    """Text that may still grow."""

    make: Callable[[Canvas], Painter]
    pieces: list[str] = field(default_factory=list)
    finished: bool = False
    _chars: int = 0
    _line_ends: int = 0

    @property
    def text(self) -> str:
        """All of it; what came in pieces is one piece from then on."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def size(self) -> int:
        """Characters so far."""
        return self._chars

    def append(self, piece: str) -> None:
        """Take more of it."""
        self.pieces.append(piece)
        self._chars += len(piece)
        self._line_ends += piece.count("\n")

    def painter(self, canvas: Canvas) -> Painter:
        """A painter of this text."""
        painter = self.make(canvas)
        painter.append(self.text)
        if self.finished:
            painter.finish()
        return painter

    def estimate(self, canvas: Canvas) -> int:
        """A row for each line, and for what does not fit."""
        return self._line_ends + 1 + self._chars // max(canvas.width, 1) if self._chars else 0


@dataclass(slots=True)
class ToolSource:
    """A call of a tool, and what came of it once it has ended."""

    name: str
    argument: str = ""
    outcome: ToolOutcome | None = None
    seconds: float | None = None
    output: str = ""
    fold: Fold = "folded"

    @property
    def text(self) -> str:
        """One line about the call."""
        return " ".join(part for part in (self.name, self.argument, self.outcome) if part)

    @property
    def size(self) -> int:
        """Characters of the output."""
        return len(self.output)

    def end(self, outcome: ToolOutcome, seconds: float | None, output: str) -> None:
        """Take note of how it ended; what failed opens by itself."""
        self.outcome, self.seconds, self.output = outcome, seconds, output
        if outcome == "failed":
            self.fold = "peek"

    def painter(self, canvas: Canvas) -> Painter:
        """A painter of this call."""
        painter = ToolPainter(canvas, self.name, self.argument)
        if self.outcome is not None:
            painter.end(self.outcome, self.seconds, self.output)
            painter.set_fold(self.fold)
        return painter

    def estimate(self, canvas: Canvas) -> int:
        """The line of the call, and of its output as many as are shown."""
        del canvas
        most = {"folded": 0, "peek": PEEK_ROWS, "open": OPEN_ROWS}[self.fold]
        return 1 + min(most, self.output.count("\n", 0, 100_000) + 1)
