"""Text that is wrapped as it is: prompts, thinking, notes, and blocks too big to format."""

from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic

from rich.segment import Segment
from rich.style import Style

from ollm_tui.decode.clean import Cleaner
from ollm_tui.tui.painters.painter import Change, RowList
from ollm_tui.tui.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.painters.wrapping import wrap, wrapped_rows

PIECE = 4096
Pick = Callable[[Palette], Style]


class GrowingText:
    """Wraps text as it arrives; all rows but the last are final, so nothing is wrapped twice."""

    def __init__(self, width: int, style: Style, *, words: bool = True) -> None:
        self.rows: list[Row] = []
        self.settled = 0
        """Rows before this index have not changed since `settled` was last set to the row count."""
        self.wrapped_chars = 0
        self._width = max(width, 1)
        self._style = style
        self._words = words
        self._line = ""
        self._waiting: deque[str] = deque()
        self._waiting_at = 0

    def grow(self, text: str) -> None:
        """Take more text; it is painted by `work`."""
        if text:
            self._waiting.append(text)

    def work(self, deadline: float) -> bool:
        """Paint until the deadline; True when text is left."""
        while self._waiting:
            self._take(self._next_piece())
            if monotonic() > deadline:
                break
        return bool(self._waiting)

    def _next_piece(self) -> str:
        parts: list[str] = []
        room = PIECE
        while self._waiting and room:
            text = self._waiting[0]
            part = text[self._waiting_at : self._waiting_at + room]
            parts.append(part)
            room -= len(part)
            self._waiting_at += len(part)
            if self._waiting_at == len(text):
                self._waiting.popleft()
                self._waiting_at = 0
        return "".join(parts)

    def _take(self, piece: str) -> None:
        first, *others = piece.replace("\t", "    ").split("\n")
        if first or not self.rows:
            self._extend(first)
        for line in others:
            self._line = ""
            self.rows.append(Row())
            self._extend(line)

    def _extend(self, text: str) -> None:
        """Wrap the last row again with `text` behind it."""
        line = self._line + text
        join = self.rows.pop().join if self.rows else None
        self.settled = min(self.settled, len(self.rows))
        self.wrapped_chars += len(line)
        last = 0
        for start, end, following in wrap(line, self._width, words=self._words):
            visible = line[start:end]
            segments = (Segment(visible, self._style),) if visible else ()
            self.rows.append(Row(segments, join=join))
            join = line[end:following]
            last = start
        self._line = line[last:]


def plain_rows(text: str, width: int, style: Style, *, words: bool = True) -> Iterator[Row]:
    """The rows of a whole text, at least one, a piece at a time."""
    if not text:
        yield Row()
    growing = GrowingText(width, style, words=words)
    growing.grow(text)
    more, done = True, 0
    while more:
        more = growing.work(0.0)
        ready = len(growing.rows) - more
        yield from growing.rows[done:ready]
        done = ready


class GrowingTail:
    """One endless line at the end of other rows, which grows without being wrapped again."""

    def __init__(self, rows: list[Row], text: GrowingText, dress: Callable[[Row], Row]) -> None:
        self._rows = rows
        self._at = len(rows)
        self._text = text
        self._dress = dress
        self._chars = 0
        self.settled = self._at
        """Rows before this one were not touched by the last update."""

    def update(self, line: str) -> bool:
        """Show at most one more piece of the line; True when there is more."""
        text = self._text
        text.grow(line[self._chars :])
        self._chars = len(line)
        text.settled = len(text.rows)
        more = text.work(0.0)
        self.settled = self._at + text.settled
        self._rows[self.settled :] = [self._dress(row) for row in text.rows[text.settled :]]
        return more


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

    refining = False

    def __init__(self, canvas: Canvas, pick: Pick, hint: str = "") -> None:
        self._canvas = canvas
        self._pick = pick
        self._hint = hint
        self._text: list[str] = []
        self._ends = LineEnds()
        self._cleaner = Cleaner()
        self._finished = False
        self._hinted = False
        self.rows = RowList()
        self._growing = self._fresh()

    def _fresh(self) -> GrowingText:
        growing = GrowingText(self._canvas.width, self._pick(self._canvas.palette))
        self.rows.items = growing.rows
        return growing

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
            hint = [(self._hint, self._canvas.palette.dim)]
            growing.rows += wrapped_rows(hint, self._canvas.width)
            self._hinted = True
        same = len(growing.rows) == before
        if growing.settled < len(growing.rows) or not same:
            self.rows.touch(Change(growing.settled, len(growing.rows) if same else None))
        growing.settled = len(growing.rows)
        return more

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Wrap all of it again."""
        del first
        self._canvas = canvas
        self._hinted = False
        self._growing = self._fresh()
        self._growing.grow("".join(self._text))
        self.rows.touch(Change(0, None))
