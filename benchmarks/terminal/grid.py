"""The cells of a terminal screen: text only, no colours."""

from wcwidth import wcwidth

BLANK = " "
FIRST_COMBINING = "\u0300"


class Grid:
    """Rows of cells with a cursor and a scroll region."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.cells = [self._blank() for _ in range(rows)]
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = (0, 0)
        self._last = BLANK
        self._wraps = False
        """The last column was written: the next character begins a new line."""

    def _blank(self) -> list[str]:
        return [BLANK] * self.columns

    @property
    def lines(self) -> list[str]:
        """The rows as text, blanks at their ends included."""
        return ["".join(row) for row in self.cells]

    def draw(self, text: str) -> None:
        """Write text at the cursor."""
        if not text.isascii():
            for character in text:
                self._draw_one(character)
            return
        while text:
            self._wrap(1)
            room = self.columns - self.x
            part, text = text[:room], text[room:]
            self.cells[self.y][self.x : self.x + len(part)] = part
            self._last = part[-1]
            self._advance(len(part))

    def _draw_one(self, character: str) -> None:
        width = 1 if character < FIRST_COMBINING else wcwidth(character)
        if width <= 0:
            return
        self._wrap(width)
        row = self.cells[self.y]
        row[self.x] = self._last = character
        if width == 2:
            row[self.x + 1] = ""
        self._advance(width)

    def _wrap(self, width: int) -> None:
        if self._wraps or self.x + width > self.columns:
            self.next_line()
            self.x = 0
        self._wraps = False

    def _advance(self, width: int) -> None:
        self.x += width
        if self.x >= self.columns:
            self.x, self._wraps = self.columns - 1, True

    def repeat(self, times: int) -> None:
        """Write the last character again."""
        self.draw(self._last * times)

    def next_line(self) -> None:
        """Go down, and scroll at the end of the region."""
        if self.y == self.bottom:
            self.scroll(1)
        elif self.y < self.rows - 1:
            self.y += 1

    def previous_line(self) -> None:
        """Go up, and scroll at the beginning of the region."""
        if self.y == self.top:
            self.scroll(-1)
        else:
            self.y = max(0, self.y - 1)

    def scroll(self, count: int, top: int | None = None) -> None:
        """Move the region's lines up, or down when `count` is negative."""
        first = self.top if top is None else top
        for _ in range(min(abs(count), self.bottom - first + 1)):
            removed, new = (first, self.bottom) if count > 0 else (self.bottom, first)
            del self.cells[removed]
            self.cells.insert(new, self._blank())

    def move(self, x: int, y: int) -> None:
        """Put the cursor somewhere on the screen."""
        self.x = max(0, min(self.columns - 1, x))
        self.y = max(0, min(self.rows - 1, y))
        self._wraps = False

    def save(self) -> None:
        """Remember where the cursor is."""
        self.saved = (self.x, self.y)

    def settle(self) -> None:
        """Forget a pending line break, as every movement does."""
        self._wraps = False

    def erase_line(self, kind: int) -> None:
        """Blank the line: after the cursor (0), up to it (1), or all of it (2)."""
        spans = ((self.x, self.columns), (0, self.x + 1), (0, self.columns))
        self.erase_cells(*spans[min(kind, 2)])

    def erase_cells(self, start: int, end: int) -> None:
        """Blank part of the cursor's line."""
        end = min(end, self.columns)
        self.cells[self.y][start:end] = [BLANK] * (end - start)

    def erase_screen(self, kind: int) -> None:
        """Blank the screen: after the cursor (0), up to it (1), or all of it (2)."""
        spans = (range(self.y + 1, self.rows), range(self.y), range(self.rows))
        for y in spans[min(kind, 2)]:
            self.cells[y] = self._blank()
        if kind < 2:
            self.erase_line(kind)

    def delete_cells(self, count: int) -> None:
        """Take cells out of the cursor's line."""
        row = self.cells[self.y]
        del row[self.x : self.x + count]
        row += [BLANK] * (self.columns - len(row))

    def insert_cells(self, count: int) -> None:
        """Put blanks into the cursor's line."""
        row = self.cells[self.y]
        row[self.x : self.x] = [BLANK] * count
        del row[self.columns :]

    def insert_lines(self, count: int) -> None:
        """Put blank lines in at the cursor, or take lines out when `count` is negative."""
        if self.top <= self.y <= self.bottom:
            self.scroll(-count, self.y)
            self.x = 0

    def set_region(self, top: int, bottom: int) -> None:
        """Scroll only these rows from now on."""
        self.top, self.bottom = top, min(self.rows - 1, bottom)
        self.x = self.y = 0
