"""What is searched for, and where it is in painted rows, as if their lines were not wrapped.

Upper and lower case are one unless the needle has an upper case letter. Comparing keeps every code
point in its place, so what is found in the folded text is a span of the text itself.
"""

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from rich.cells import split_graphemes

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.painters import Painter, Row
from ollm_tui.tui.transcript.block_list import address, unpacked

_MARKS = "*_~\\[]!<>"
"""Markdown marks that may stand inside a word of the source and are not painted."""
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_ENTITY = re.compile(r"&#?\w{1,31};")
_NUMBERED = re.compile(r"^[ >*+-]*\d{1,9}[.)]", re.MULTILINE)
"""A list that is numbered anew when it is painted."""
_FORMULAS = ("$", "\\(", "\\[")
"""What begins a formula, which is painted in other characters."""
_WORD = re.compile(r"[^\W_]+")
_LABEL = "copy"  # painted above code, in a list on the row of its number, and in no source
_COMBINING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_SPELLED_OUT = "⟦"
"""Begins the name of a character that is not shown; the source has the character itself."""
_WINDOW = 16_384  # code points of a line that are searched at once
_ROWS_AT_ONCE = 32
_MATCHES_AT_ONCE = 500
Position = tuple[int, int]
"""A row of the painter, and a code point in it."""


def folded(text: str) -> str:
    """The text with upper and lower case folded, as many code points as before."""
    whole = text.casefold()
    return whole if len(whole) == len(text) else "".join(map(_folded_one, text))


def _folded_one(character: str) -> str:
    forms = (character.casefold(), character.lower(), character)
    return next(form for form in forms if len(form) == 1)


@dataclass(frozen=True)
class Needle:
    """A text to search for; a blank one is found nowhere."""

    text: str

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @cached_property
    def _is_exact(self) -> bool:
        return any(character.isupper() for character in self.text)

    def comparable(self, text: str) -> str:
        """A painted text in the form that `pattern` matches, as many code points as before."""
        return text if self._is_exact else folded(text)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches the text in comparable text, with composed letters or with combining marks.

        What goes on with a combining mark is another letter.
        """
        forms = sorted(self._forms, key=len, reverse=True)
        return re.compile(f"(?:{'|'.join(map(re.escape, forms))})(?![{_COMBINING}])")

    @cached_property
    def reach(self) -> int:
        """Code points from the start of a match that decide whether it is one."""
        return max(map(len, self._forms)) + 1

    @cached_property
    def _forms(self) -> set[str]:
        text = self.comparable(self.text)
        return {text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))}

    def may_be_in(self, source: str) -> bool:
        """False only if painting the source would show no match.

        All words of the needle must be there, wherever; marks inside a word do not count.
        """
        if _SPELLED_OUT in self.text or "u+" in self.text.casefold():
            return True
        plain = source.casefold()
        missing = [[word for word in words if word not in plain] for words in self._words]
        if not all(missing) or ("&" in plain and _ENTITY.search(plain)):
            return True
        if any(mark in plain for mark in _FORMULAS):
            return True
        bare = _bare(plain)
        return any(
            all(
                word in bare or (word.isdecimal() and _NUMBERED.search(plain) is not None)
                for word in words
            )
            for words in missing
        )

    @cached_property
    def _words(self) -> list[list[str]]:
        words = [_WORD.findall(form.casefold()) for form in self._forms]
        return [[word for word in each if word not in _LABEL] for each in words]


def _bare(source: str) -> str:
    """The source without marks that may not be painted, so that words they divide are whole."""
    if "](" in source:
        source = _LINK_TARGET.sub("", source)
    source = source.translate(dict.fromkeys(map(ord, _MARKS)))
    if "`" in source:
        for tick in (" `", "` ", "\n`", "`\n"):
            source = source.replace(tick, "`")
        source = source.replace("`", "")
    return source


@dataclass(slots=True)
class Matches:
    """The matches in the rows of one painter, in order; sixteen bytes each."""

    _starts: "array[int]" = field(default_factory=lambda: array("Q"))
    _ends: "array[int]" = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> tuple[Position, Position]:
        """Where a match begins, and where it ends."""
        return unpacked(self._starts[number]), unpacked(self._ends[number])

    def add(self, start: Position, end: Position) -> None:
        """Add the next match."""
        self._starts.append(address(*start))
        self._ends.append(address(*end))

    def before_row(self, row: int) -> int:
        """The number of matches that begin above a row."""
        return bisect_left(self._starts, address(row, 0))

    def in_row(self, row: int, gutter: int, length: int) -> Iterator[tuple[int, int, int]]:
        """Yield number, start and end of the matches in one row of that length."""
        below = bisect_left(self._starts, address(row + 1, 0))
        for number in range(bisect_right(self._ends, address(row, 0)), below):
            (first, low), (last, high) = self[number]
            start = low if first == row else gutter
            end = min(high if last == row else length, length)
            if start < end:
                yield number, start, end


@dataclass(slots=True)
class _Line:
    """The end of a line that is not searched yet, and where its rows begin."""

    needle: Needle
    matches: Matches
    text: str = ""
    _starts: list[int] = field(default_factory=list)
    _rows: list[tuple[int, int, int]] = field(default_factory=list)

    def take(self, number: int, row: Row) -> None:
        """Add a row, without its gutter."""
        text = row.text[row.gutter :]
        self.text += self.needle.comparable(row.join or "")
        self._starts.append(len(self.text))
        self._rows.append((number, row.gutter, len(text)))
        self.text += self.needle.comparable(text)

    def search(self, *, to_end: bool) -> Iterator[None]:
        """Find matches that the next row cannot change, with a chance to stop now and then."""
        limit = len(self.text) if to_end else len(self.text) - self.needle.reach
        done = max(limit, 0)
        for count, match in enumerate(self.needle.pattern.finditer(self.text), 1):
            start, end = match.span()
            if start >= limit:
                break
            self.matches.add(self._place(start, is_end=False), self._place(end, is_end=True))
            done = max(done, end)
            if count % _MATCHES_AT_ONCE == 0:
                yield
        self._drop(done)

    def _place(self, position: int, *, is_end: bool) -> Position:
        """Row and code point; what a soft wrap swallowed belongs to neither row."""
        index = max(bisect_left(self._starts, position) - 1, 0)
        if not is_end:
            index = max(bisect_right(self._starts, position) - 1, 0)
            _row, _gutter, length = self._rows[index]
            if position - self._starts[index] >= length and index + 1 < len(self._rows):
                return self._rows[index + 1][0], self._rows[index + 1][1]
        row, gutter, length = self._rows[index]
        return row, gutter + min(position - self._starts[index], length)

    def _drop(self, count: int) -> None:
        """Drop the text that is searched; the row it ends in stays."""
        index = max(bisect_right(self._starts, count) - 1, 0)
        self.text = self.text[count:]
        self._starts = [start - count for start in self._starts[index:]]
        self._rows = self._rows[index:]


def search_rows(painter: Painter, needle: Needle) -> Iterator[Matches | None]:
    """Search all rows: yields None now and then, and the matches at the end.

    The painter has to keep its rows as they are until the last step.
    """
    matches = Matches()
    line = _Line(needle, matches)
    rows = painter.rows
    for index in range(rows.row_count):
        row = rows.row(index)
        if row.join is None:
            yield from line.search(to_end=True)
            line = _Line(needle, matches)
        elif len(line.text) >= _WINDOW:
            yield from line.search(to_end=False)
        line.take(index, row)
        if index % _ROWS_AT_ONCE == 0:
            yield None
    yield from line.search(to_end=True)
    yield matches


class Letters:
    """Where the graphemes of a row begin: none may be drawn in two styles."""

    def __init__(self, text: str) -> None:
        self._starts = (
            range(len(text) + 1)
            if text.isascii()
            else [*(low for low, _high, _cells in split_graphemes(text)[0]), len(text)]
        )

    def whole(self, start: int, end: int) -> tuple[int, int]:
        """The span widened to whole graphemes."""
        first = bisect_right(self._starts, start) - 1
        return self._starts[max(first, 0)], self._starts[bisect_left(self._starts, end)]
