"""Paints a block whose text is shown as it is: prompts, thinking and notes."""

from collections.abc import Callable

from rich.style import Style

from ollm_tui.decode.clean import Cleaner
from ollm_tui.tui.transcript.painters.painter import Change, line_anchor, locate_line
from ollm_tui.tui.transcript.painters.palette import Canvas, Palette
from ollm_tui.tui.transcript.painters.plain import GrowingText
from ollm_tui.tui.transcript.painters.rows import Row
from ollm_tui.tui.transcript.painters.wrap import wrap_spans

Pick = Callable[[Palette], Style]


class LineEnds:
    """Makes CR LF and a lone CR a line feed, wherever the text is cut."""

    def __init__(self) -> None:
        self._after_return = False

    def feed(self, text: str) -> str:
        """Return the text with line feeds only."""
        if self._after_return and text.startswith("\n"):
            text = text[1:]
        if text or not self._after_return:
            self._after_return = text.endswith("\r")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class PlainPainter:
    """Wraps text in one style; `hint` is a dim row of its own at the end."""

    def __init__(self, canvas: Canvas, pick: Pick, hint: str = "") -> None:
        self._canvas = canvas
        self._pick = pick
        self._hint = hint
        self._text: list[str] = []
        self._ends = LineEnds()
        self._cleaner = Cleaner()
        self._finished = False
        self._hinted = 0
        self._change: Change | None = None
        self._growing = self._fresh()

    def _fresh(self) -> GrowingText:
        return GrowingText(self._canvas.width, self._pick(self._canvas.palette))

    def append(self, text: str) -> None:
        """Take text as it came."""
        self._take(self._cleaner.feed(self._ends.feed(text)))

    def _take(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._growing.grow(text)

    def finish(self) -> None:
        """Show what the cleaner held back, and the hint."""
        self._finished = True
        self._take(self._cleaner.finish())

    def work(self, deadline: float) -> bool:
        """Paint a slice."""
        growing = self._growing
        before = len(growing.rows)
        if self._hinted:
            return False
        more = growing.work(deadline)
        if self._finished and not more and self._hint:
            self._add_hint()
        same = len(growing.rows) == before
        if growing.settled < len(growing.rows) or not same:
            self._touch(Change(growing.settled, len(growing.rows) if same else None))
        growing.settled = len(growing.rows)
        return more

    def _add_hint(self) -> None:
        dim = self._canvas.palette.dim
        for segments, join in wrap_spans([(self._hint, dim)], self._canvas.width):
            self._growing.rows.append(Row(tuple(segments), join=join))
            self._hinted += 1

    def _touch(self, change: Change) -> None:
        self._change = change if self._change is None else self._change.merge(change)

    def restyle(self, canvas: Canvas, first: int, end: int) -> None:
        """Wrap all of it again."""
        del first, end
        self._canvas = canvas
        self._hinted = 0
        self._growing = self._fresh()
        self._growing.grow("".join(self._text))
        self._touch(Change(0, None))

    def take_change(self) -> Change | None:
        """What has changed since the last call."""
        change, self._change = self._change, None
        return change

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return len(self._growing.rows)

    def row(self, index: int) -> Row:
        """One row."""
        return self._growing.rows[index]

    def anchor(self, row: int) -> tuple[int, int, int]:
        """The line and the characters before a row."""
        return (0, *line_anchor(self._growing.rows, row)) if self._growing.rows else (0, 0, 0)

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row of such a place."""
        return locate_line(self._growing.rows, anchor[1], anchor[2])
