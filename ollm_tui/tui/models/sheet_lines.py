"""Sections of names, values and texts as rows of a width, laid out one after another; pure.

Rows are made lazily: a text of a megabyte costs nothing until it is scrolled to.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean
from ollm_tui.frontend.model_sections import Fact, Role, SheetSection

Look: TypeAlias = Literal["title", "name", "value", "note", "text"] | Role
PIECE: Final = 4096
"""Code points per line; a longer line is split."""
LINE_END: Final = "⏎\n"
"""How the end of a line is shown in a prompt, where each one counts."""
MAX_NAME_WIDTH: Final = 18
_INDENT: Final = 2
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One line before wrapping: styled spans beside a name."""

    section: int
    name: str = ""
    spans: tuple[tuple[str, Look], ...] = ()
    hang: int = 0
    """The indent of its rows, in cells."""

    @property
    def text(self) -> str:
        """The text to wrap, without the name."""
        return "".join(text for text, _look in self.spans)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row: the part of a line from `start` to `end`; the first row of a line shows its name."""

    line: int
    start: int
    end: int


def lines_of(sections: Sequence[SheetSection], width: int) -> Iterator[tuple[Line, bool]]:
    """Yield each line, and whether it breaks between words."""
    for number, section in enumerate(sections):
        if number:
            yield Line(number - 1), True
        yield Line(number, spans=((clean(section.title), "title"),), hang=_INDENT), True
        column = _column(section.facts, width)
        for fact in section.facts:
            yield from ((line, True) for line in _fact(number, fact, column))
        look: Look = section.role or "text"
        text = section.text.replace("\n", LINE_END) if section.role else section.text
        for piece in _pieces(text):
            spans: tuple[tuple[str, Look], ...] = ((piece, look),) if piece else ()
            yield Line(number, spans=spans, hang=_INDENT), section.words


def _column(facts: Sequence[Fact], width: int) -> int:
    widest = max((len(fact.name) for fact in facts), default=0)
    return min(widest, MAX_NAME_WIDTH, max(1, width * 2 // 5))


def _fact(section: int, fact: Fact, column: int) -> Iterator[Line]:
    """Yield the lines of a fact, one for each line of its value."""
    hang = _INDENT + column + _GAP
    name = _one_line(fact.name)
    if len(name) > column:  # a long name has a line of its own
        yield Line(section, spans=((name, "name"),), hang=_INDENT)
        name = ""
    note = _one_line(fact.note)
    pieces = [*_pieces(fact.value)] or [""]
    for number, piece in enumerate(pieces):
        spans: list[tuple[str, Look]] = [(piece, "value")] if piece else []
        if note and number == len(pieces) - 1:
            spans.append((f"  {note}" if piece else note, "note"))
        yield Line(section, "" if number else name, tuple(spans), hang)


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines of a foreign text, cleaned and of limited length."""
    if not text:
        return
    start, end = 0, len(text.rstrip("\n"))
    while start <= end:
        feed = text.find("\n", start, min(end, start + PIECE + 1))
        stop = feed if feed >= 0 else end
        if stop - start > PIECE:
            yield _cleaned(text[start : start + PIECE])
            start += PIECE
            continue
        yield _cleaned(text[start:stop].removesuffix("\r"))
        start = stop + 1


def _cleaned(line: str) -> str:
    return clean(line).replace("\t", "    ")


def _one_line(text: str) -> str:
    return _cleaned(text.replace("\n", " ")[:PIECE])
