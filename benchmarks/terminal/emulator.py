"""A small, fast terminal emulator that keeps text only.

The driver has to know what is on the screen while a program writes megabytes; general emulators
spend most of their time on colours. It understands what current toolkits send, and answers the
usual questions.
"""

import codecs
import re
from collections.abc import Callable

from benchmarks.terminal.grid import Grid

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<pre>[<=>?]?)(?P<par>[0-9;:]*)(?P<mid>[ -/]*)(?P<fin>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_](?P<dcs>[^\x1b]*)\x1b\\"
    r"|\x1b(?P<esc>[ -/]*[0-Z\\^-~])"
    r"|(?P<c0>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
)
_MAX_LENGTH = 65536
_KNOWN_MODES = frozenset({"2026", "25", "1", "1000", "1006", "2004"})
_ALTERNATE = frozenset({"1049", "1047", "47"})


class Emulator:
    """A terminal: feed it bytes, look at `lines`."""

    def __init__(
        self, columns: int, rows: int, reply: Callable[[bytes], object] = lambda _: None
    ) -> None:
        self.frames = 0
        """Synchronised updates begun so far."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._reply = reply
        self._normal: Grid | None = None
        self._grid = Grid(columns, rows)

    @property
    def lines(self) -> list[str]:
        """The rows of the screen that is shown."""
        return self._grid.lines

    @property
    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self._grid.lines)

    def feed(self, data: bytes) -> None:
        """Take what the program wrote."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        place, end = 0, len(text)
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                if end - place < _MAX_LENGTH:  # the rest of a sequence is on its way
                    self._rest = text[place:]
                    return
                place += 1
                continue
            place = match.end()
            self._take(match)

    def _take(self, match: re.Match[str]) -> None:
        match match.lastgroup:
            case "text":
                self._grid.draw(match["text"])
            case "fin":
                self._csi(match["pre"], match["par"], match["mid"], match["fin"])
            case "c0":
                self._control(match["c0"])
            case "esc":
                self._escape(match["esc"])
            case "osc":
                self._colour(match["osc"])
            case _:
                if match["dcs"].startswith("+q"):
                    self._reply(b"\x1bP0+r\x1b\\")

    def _control(self, code: str) -> None:
        grid = self._grid
        grid.settle()
        if code == "\r":
            grid.x = 0
        elif code in "\n\x0b\x0c":
            grid.next_line()
        elif code == "\b":
            grid.x = max(0, grid.x - 1)
        elif code == "\t":
            grid.x = min(grid.columns - 1, (grid.x // 8 + 1) * 8)

    def _escape(self, code: str) -> None:
        grid = self._grid
        match code:
            case "7":
                grid.save()
            case "8":
                grid.move(*grid.saved)
            case "M":
                grid.previous_line()
            case "D" | "E":
                grid.next_line()
                grid.x = 0 if code == "E" else grid.x
            case "c":
                self._grid = Grid(grid.columns, grid.rows)

    def _colour(self, question: str) -> None:
        code, _, value = question.partition(";")
        if value == "?" and code in {"10", "11", "12"}:
            shade = "ffff/ffff/ffff" if code == "10" else "0000/0000/0000"
            self._reply(f"\x1b]{code};rgb:{shade}\x1b\\".encode())

    def _csi(self, prefix: str, numbers: str, middle: str, final: str) -> None:
        if middle:
            if prefix == "?" and middle == "$" and final == "p":
                known = "2" if numbers in _KNOWN_MODES else "0"
                self._reply(f"\x1b[?{numbers};{known}$y".encode())
        elif prefix == "?" and final in "hl":
            self._modes(numbers, is_set=final == "h")
        elif prefix:
            self._private(prefix, final)
        elif final != "m":
            values = [int(part) if part.isdigit() else 0 for part in numbers.split(";")]
            if not (self._moved(final, values) or self._edited(final, values)):
                self._asked(final, values[0])

    def _modes(self, numbers: str, *, is_set: bool) -> None:
        for mode in numbers.split(";"):
            if mode == "2026" and is_set:
                self.frames += 1
            elif mode in _ALTERNATE and is_set and self._normal is None:
                self._normal = self._grid
                self._grid = Grid(self._normal.columns, self._normal.rows)
            elif mode in _ALTERNATE and not is_set and self._normal is not None:
                self._grid, self._normal = self._normal, None

    def _private(self, prefix: str, final: str) -> None:
        answers = {
            ">q": b"\x1bP>|xterm(370)\x1b\\",
            ">c": b"\x1b[>41;370;0c",
            "?u": b"\x1b[?0u",
        }
        if answer := answers.get(prefix + final):
            self._reply(answer)

    def _moved(self, final: str, numbers: list[int]) -> bool:
        """Do what moves the cursor; tells whether this did."""
        grid, count = self._grid, numbers[0] or 1
        second = (numbers[1] if len(numbers) > 1 else 0) or 1
        targets = {
            "H": (second - 1, count - 1),
            "A": (grid.x, max(grid.top if grid.y >= grid.top else 0, grid.y - count)),
            "B": (grid.x, min(grid.bottom if grid.y <= grid.bottom else grid.rows, grid.y + count)),
            "C": (grid.x + count, grid.y),
            "D": (grid.x - count, grid.y),
            "E": (0, grid.y + count),
            "F": (0, grid.y - count),
            "G": (count - 1, grid.y),
            "d": (grid.x, count - 1),
            "u": grid.saved,
        }
        same = {"f": "H", "e": "B", "a": "C", "`": "G"}
        target = targets.get(same.get(final, final))
        if target is None:
            return False
        grid.move(*target)
        return True

    def _edited(self, final: str, numbers: list[int]) -> bool:
        """Do what changes cells; tells whether this did."""
        grid, count = self._grid, numbers[0] or 1
        if final == "b":
            grid.repeat(count)
            return True
        if final == "r":
            bottom = (numbers[1] if len(numbers) > 1 else 0) or grid.rows
            grid.set_region(count - 1, bottom - 1)
            return True
        edits: dict[str, Callable[[], None]] = {
            "J": lambda: grid.erase_screen(numbers[0]),
            "K": lambda: grid.erase_line(numbers[0]),
            "X": lambda: grid.erase_cells(grid.x, grid.x + count),
            "P": lambda: grid.delete_cells(count),
            "@": lambda: grid.insert_cells(count),
            "L": lambda: grid.insert_lines(count),
            "M": lambda: grid.insert_lines(-count),
            "S": lambda: grid.scroll(count),
            "T": lambda: grid.scroll(-count),
            "s": grid.save,
        }
        edit = edits.get(final)
        if edit is None:
            return False
        edit()
        grid.settle()
        return True

    def _asked(self, final: str, number: int) -> None:
        grid = self._grid
        answers = {
            ("n", 6): f"\x1b[{grid.y + 1};{grid.x + 1}R",
            ("n", 5): "\x1b[0n",
            ("c", 0): "\x1b[?62;22c",
            ("t", 18): f"\x1b[8;{grid.rows};{grid.columns}t",
            ("t", 14): f"\x1b[4;{grid.rows * 16};{grid.columns * 8}t",
            ("t", 16): "\x1b[6;16;8t",
        }
        if answer := answers.get((final, number)):
            self._reply(answer.encode())
