"""A strict terminal emulator with styles: it names each sequence that it does not know.

It knows what the program may send and no more, so a torn or unexpected sequence shows. Its cells
are as wide as Rich takes them to be, and what is erased or scrolled in takes the background that
is set, as in xterm.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rich.cells import split_graphemes

from tests.support.vt import Token, tokens, unfinished

ATTRIBUTES: Final = (
    *("", "bold", "dim", "italic", "underline", "blink", "fast blink", "reverse", "conceal"),
    "strike",
)
"""By the number that switches them on."""
OFF: Final[Mapping[int, frozenset[str]]] = {
    22: frozenset({"bold", "dim"}),
    23: frozenset({"italic"}),
    24: frozenset({"underline"}),
    25: frozenset({"blink", "fast blink"}),
    27: frozenset({"reverse"}),
    28: frozenset({"conceal"}),
    29: frozenset({"strike"}),
}
MODES: Final = frozenset(
    {1, 3, 4, 7, 12, 25, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1049, 2004, 2026}
)
MODES_LEFT_ALONE: Final = frozenset({1048, 2027, 2048, 7727})
WITHOUT_EFFECT: Final = frozenset("tcnqu")
"""Reports, titles, and the protocol of the keyboard."""


@dataclass(frozen=True, slots=True)
class Pen:
    """How characters look that are written now."""

    colour: str = ""
    background: str = ""
    attributes: frozenset[str] = frozenset()
    link: str = ""

    def changed(self, numbers: list[int]) -> "Pen":
        pen, rest = self, iter(numbers)
        for number in rest:
            pen = pen._with(number, rest)
        return pen

    def _with(self, number: int, rest: Iterator[int]) -> "Pen":
        if number == 0:
            return Pen(link=self.link)
        if number < len(ATTRIBUTES):
            return replace(self, attributes=self.attributes | {ATTRIBUTES[number]})
        if number in OFF:
            return replace(self, attributes=self.attributes - OFF[number])
        if 30 <= number <= 39 or 90 <= number <= 97:
            return replace(self, colour=_colour(number, 38, rest))
        if 40 <= number <= 49 or 100 <= number <= 107:
            return replace(self, background=_colour(number, 48, rest))
        raise ValueError(f"SGR {number}")


def _colour(number: int, extended: int, rest: Iterator[int]) -> str:
    if number == extended + 1:
        return ""
    if number != extended:
        return str(number - extended + 38)
    if (kind := next(rest)) not in (2, 5):
        raise ValueError(f"SGR {number};{kind}")
    return ",".join(str(next(rest)) for _ in range(3 if kind == 2 else 1))


PLAIN: Final = Pen()
Cell = tuple[str, Pen]
"""A character, empty behind a wide one, and how it looks."""


@dataclass
class StyledTerminal:
    """Cells with styles, a cursor and a scroll region."""

    columns: int
    rows: int
    on_string: Callable[[str], object] = lambda _: None
    """Called for an operating system command that begins with a number of the caller's own."""
    cells: list[list[Cell]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """What was not understood."""
    x: int = 0
    y: int = 0
    top: int = 0
    bottom: int = 0
    pen: Pen = PLAIN
    off: set[int] = field(default_factory=set)
    """The modes that were switched off."""
    _wraps: bool = False
    _rest: bytes = b""
    _last: str = " "
    _saved: tuple[int, int, Pen] = 0, 0, PLAIN

    def __post_init__(self) -> None:
        self.cells = [self._blank() for _ in range(self.rows)]
        self.bottom = self.rows - 1

    def _blank(self) -> list[Cell]:
        return [(" ", Pen(background=self.pen.background))] * self.columns

    @property
    def lines(self) -> list[str]:
        return ["".join(text for text, _ in row).rstrip() for row in self.cells]

    def resize(self, columns: int, rows: int) -> None:
        """Take another size: what does not fit is cut off, the scroll region is the screen."""
        self.columns, self.rows, self.pen = columns, rows, PLAIN
        blank = self._blank()
        self.cells = [(row + blank)[:columns] for row in self.cells[:rows]]
        self.cells += [self._blank() for _ in range(rows - len(self.cells))]
        self.top, self.bottom = 0, rows - 1
        self._move(self.x, self.y)

    def feed(self, data: bytes) -> None:
        """Take what the program wrote; the rest of a sequence may come later."""
        data = self._rest + data
        end = unfinished(data)
        self._rest = data[end:]
        for token in tokens(data[:end]):
            if not self._takes(token):
                self.unknown.append(token.raw)

    def _takes(self, token: Token) -> bool:
        raw = token.raw
        match token.kind:
            case "text":
                self._draw(raw)
                return True
            case "c0":
                return self._control(raw)
            case "esc":
                return self._escape(raw[1:])
            case "string":
                return self._string(raw[1], raw[2:].rstrip("\x07\x1b\\"))
            case "csi":
                try:
                    return self._sequence(raw[2:-1], raw[-1])
                except (ValueError, StopIteration, RuntimeError):
                    return False
        return False

    # Text

    def _draw(self, text: str) -> None:
        if text.isascii():
            for character in text:
                self._put(character, 1)
            return
        for start, end, width in split_graphemes(text)[0]:
            self._put(text[start:end], width)

    def _put(self, character: str, width: int) -> None:
        if self._wraps or self.x + width > self.columns:
            if 7 in self.off:
                self.x = self.columns - width
            else:
                self._next_line()
                self.x = 0
        self._wraps = False
        if width == 0:
            return
        row = self.cells[self.y]
        self._break_wide(row, self.x)
        if self.x + width < self.columns:
            self._break_wide(row, self.x + width)
        row[self.x] = (character, self.pen)
        if width == 2:
            row[self.x + 1] = ("", self.pen)
        self._last = character
        self.x += width
        if self.x >= self.columns:
            self.x, self._wraps = self.columns - 1, True

    def _break_wide(self, row: list[Cell], x: int) -> None:
        """Blank a wide character of which the cell is the second half."""
        if x and row[x][0] == "":
            row[x - 1 : x + 1] = [(" ", row[x][1])] * 2

    # Controls

    def _control(self, code: str) -> bool:
        match code:
            case "\r":
                self._move(0, self.y)
            case "\n":
                self._next_line()
            case "\b":
                self._move(self.x - 1, self.y)
            case "\x07":
                pass
            case _:
                return False
        return True

    def _escape(self, code: str) -> bool:
        match code:
            case "7":
                self._saved = self.x, self.y, self.pen
            case "8":
                x, y, self.pen = self._saved
                self._move(x, y)
            case "D":
                self._next_line()
            case "M":
                self._previous_line()
            case "E":
                self._next_line()
                self.x = 0
            case ">" | "=" | "(B":
                pass
            case _:
                return False
        return True

    def _string(self, kind: str, text: str) -> bool:
        number, _, rest = text.partition(";")
        if kind == "]" and number == "8":
            self.pen = replace(self.pen, link=rest.partition(";")[2])
        elif kind == "]" and number.isdigit() and len(number) > 3:
            self.on_string(rest)
        elif kind == "]":
            return number in {"0", "2", "4", "9", "10", "11", "12", "22", "52", "133"}
        else:
            return (kind, text[:1]) in {("_", "G"), ("P", "+")}
        return True

    def _sequence(self, between: str, final: str) -> bool:
        prefix = between[:1] if between[:1] in "<=>?" else ""
        body = between[len(prefix) :]
        plain = body.rstrip(" !\"#$%&'()*+,-./")
        if plain != body:
            known = {("?", "$", "p"), ("", " ", "q"), ("", "!", "p")}
            return (prefix, body[len(plain) :], final) in known
        if prefix == "?" and final in "hl":
            return all(self._mode(int(mode), is_set=final == "h") for mode in plain.split(";"))
        if prefix:
            return final in WITHOUT_EFFECT
        numbers = [int(part or 0) for part in plain.replace(":", ";").split(";")]
        if final == "m":
            self.pen = self.pen.changed(numbers)
            return True
        return self._moved(final, numbers) or self._edited(final, numbers)

    def _mode(self, mode: int, *, is_set: bool) -> bool:
        (self.off.discard if is_set else self.off.add)(mode)
        if mode == 1049 and is_set:
            self.cells = [self._blank() for _ in range(self.rows)]
        return mode in MODES or mode in MODES_LEFT_ALONE

    def _moved(self, final: str, numbers: list[int]) -> bool:
        count = numbers[0] or 1
        second = (numbers[1] if len(numbers) > 1 else 0) or 1
        match final:
            case "H" | "f":
                self._move(second - 1, count - 1)
            case "A":
                self._move(self.x, max(self.y - count, self.top if self.y >= self.top else 0))
            case "B" | "e":
                is_inside = self.y <= self.bottom
                self._move(self.x, min(self.y + count, self.bottom if is_inside else self.rows))
            case "C" | "a":
                self._move(self.x + count, self.y)
            case "D":
                self._move(self.x - count, self.y)
            case "G" | "`":
                self._move(count - 1, self.y)
            case "d":
                self._move(self.x, count - 1)
            case "r":
                self.top = count - 1
                self.bottom = min((numbers[1] if len(numbers) > 1 else 0) or self.rows, self.rows)
                self.bottom -= 1
                self._move(0, 0)
            case _:
                return False
        return True

    def _edited(self, final: str, numbers: list[int]) -> bool:
        kind, count = numbers[0], numbers[0] or 1
        row, blank = self.cells[self.y], self._blank()
        self._wraps = self._wraps and final in "btcn"
        match final:
            case "S" | "T":
                self._scroll(count if final == "S" else -count, self.top)
            case "L" | "M":
                if self.top <= self.y <= self.bottom:
                    self._scroll(count if final == "M" else -count, self.y)
                    self.x = 0
            case "P":
                row[self.x :] = (row[self.x + count :] + blank)[: self.columns - self.x]
            case "@":
                row[self.x :] = (blank[:count] + row[self.x :])[: self.columns - self.x]
            case "X":
                end = min(self.x + count, self.columns)
                row[self.x : end] = blank[self.x : end]
            case "b":
                self._draw(self._last * count)
            case "K" | "J":
                spans = (slice(self.x, None), slice(0, self.x + 1), slice(None))
                row[spans[min(kind, 2)]] = blank[spans[min(kind, 2)]]
                if final == "J":
                    lines = (range(self.y + 1, self.rows), range(self.y), range(self.rows))
                    for line in lines[min(kind, 2)]:
                        self.cells[line] = self._blank()
            case _:
                return final in WITHOUT_EFFECT or (final, kind) == ("l", 4)
        return True

    # Lines

    def _move(self, x: int, y: int) -> None:
        self.x = max(0, min(self.columns - 1, x))
        self.y = max(0, min(self.rows - 1, y))
        self._wraps = False

    def _next_line(self) -> None:
        self._wraps = False
        if self.y == self.bottom:
            self._scroll(1, self.top)
        elif self.y < self.rows - 1:
            self.y += 1

    def _previous_line(self) -> None:
        self._wraps = False
        if self.y == self.top:
            self._scroll(-1, self.top)
        else:
            self.y = max(0, self.y - 1)

    def _scroll(self, count: int, first: int) -> None:
        """Move the lines from `first` to the end of the region up, or down."""
        for _ in range(min(abs(count), self.bottom - first + 1)):
            removed, new = (first, self.bottom) if count > 0 else (self.bottom, first)
            del self.cells[removed]
            self.cells.insert(new, self._blank())
