"""Cuts Markdown into top-level sections, each painted by itself: ONE item of a list is one.

Only whole lines decide, and no decision is ever taken back except for the open section, so the
cut does not depend on how the text arrived.
"""

import re
from enum import Enum, StrEnum, auto

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.painters.formulas import closes_block, opens_block


class Kind(StrEnum):
    """The kind of a section."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    RULE = "rule"
    FENCE = "fence"
    INDENTED = "indented"
    TABLE = "table"
    ITEM = "item"
    QUOTE = "quote"
    FORMULA = "formula"


class Move(Enum):
    """What a line does to the open section."""

    JOIN = auto()
    JOIN_LAST = auto()  # and close it
    CLOSE = auto()  # the line is used up
    SKIP = auto()  # blank, and nothing is open
    START = auto()  # another section
    SPLIT = auto()  # the last line of the paragraph was the head of a table


@dataclass(slots=True)
class Section:
    """A top-level piece of Markdown; `lines` grows while it is open."""

    kind: Kind
    lines: list[str] = field(default_factory=list)
    gap: bool = False
    """A blank row stands above it."""
    chars: int = 0
    closed: bool = False
    fence: str = ""
    """The run of backticks or tildes that opened a code block here or inside this item or quote."""
    language: str = ""
    indent: int = 0
    """Column of an item's text, or of a fence."""
    number: int | None = None
    """The number an ordered item shows."""
    mark: str = ""
    """The list marker's last character: items of one list share it."""
    first_line: int = 0
    """The number of its first line in the text, from 0."""

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        self.chars += len(line) + 1
        if self.kind in {Kind.ITEM, Kind.QUOTE}:
            self._track_fence(line)

    def _track_fence(self, line: str) -> None:
        """Remember whether a code block is open inside an item or a quotation."""
        inner = line.lstrip(" >")
        if self.kind is Kind.ITEM and len(self.lines) == 1:
            inner = line[self.indent :].lstrip(" ")
        if self.fence:
            if _closes(self.fence, inner):
                self.fence = ""
        elif (match := _fence_of(inner)) is not None:
            self.fence = match[2]

    @property
    def is_cut_formula(self) -> bool:
        """Whether a formula began here that has no end: it is text once nothing follows."""
        return self.kind is Kind.FORMULA and not closes_block(self.lines)

    @property
    def source(self) -> str:
        """The section's Markdown."""
        return "\n".join(self.lines)


MAX_HEAD_LENGTH = 4000
"""A line with more characters is never the head of a table."""
_MAX_SYNTAX_LENGTH = 2000
_MAX_COLUMNS = 100
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ ]|$)")
_RULE = re.compile(r" {0,3}(?:(?:-[ ]*){3,}|(?:\*[ ]*){3,}|(?:_[ ]*){3,})$")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])( +|$)")
_SETEXT = re.compile(r" {0,3}(?:=+|-+) *$")
_DELIMITER = re.compile(r" {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$")
_UNDECIDED = re.compile(r"[ ]{0,3}[-=*_#`~+>|:0-9.)]{0,5} ?$")
_PIPE = re.compile(r"(?<!\\)\|")


def undecided(line: str) -> bool:
    """Whether the start of a line is too short to tell what it will be."""
    return len(line) < 10 and _UNDECIDED.match(line) is not None


def split_cells(line: str) -> list[str]:
    """The cells of a table row."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _fence_of(line: str) -> re.Match[str] | None:
    match = _FENCE.match(line)
    return None if match and match[2][0] == "`" and "`" in match[3] else match


def _closes(fence: str, line: str) -> bool:
    text = line.strip()
    return len(text) >= len(fence) and not text.strip(fence[0])


def _heads_table(line: str, delimiter: str) -> bool:
    if len(delimiter) > _MAX_SYNTAX_LENGTH or len(line) > MAX_HEAD_LENGTH or "|" not in line:
        return False
    if not _DELIMITER.match(delimiter):
        return False
    return len(split_cells(line)) == len(split_cells(delimiter)) <= _MAX_COLUMNS


def classify(line: str) -> Section:
    """The section that begins with a line, which is not blank."""
    if _indent(line) >= 4:
        return Section(Kind.INDENTED)
    if (fence := _fence_of(line)) is not None:
        language = next(iter(fence[3].split(maxsplit=1)), "")
        return Section(Kind.FENCE, fence=fence[2], indent=len(fence[1]), language=language)
    if len(line) < _MAX_SYNTAX_LENGTH and _RULE.match(line):
        return Section(Kind.RULE, closed=True)
    item = _ITEM.match(line)
    return _text_section(line) if item is None else _item(item)


def _text_section(line: str) -> Section:
    if opens_block(line):
        return Section(Kind.FORMULA, closed=closes_block([line]))
    if _HEADING.match(line):
        return Section(Kind.HEADING, closed=True)
    return Section(Kind.QUOTE if line.lstrip(" ").startswith(">") else Kind.PARAGRAPH)


def _item(match: re.Match[str]) -> Section:
    before, marker, after = match.groups()
    space = len(after) if 1 <= len(after) <= 4 else 1
    number = int(marker[:-1]) if len(marker) > 1 else None
    return Section(
        Kind.ITEM, indent=len(before) + len(marker) + space, number=number, mark=marker[-1]
    )


def _interrupts(line: str) -> bool:
    """Whether a line can end the paragraph above it without a blank line."""
    started = classify(line)
    if started.kind is Kind.ITEM:
        return line.strip() != line.strip()[:1] and started.number in {None, 1}
    if started.kind is Kind.FORMULA:
        return started.closed or len(line.strip()) == 2
    return started.kind not in {Kind.PARAGRAPH, Kind.INDENTED}


class Sectioner:
    """Feeds whole lines into sections; `sections` grows, the last one may be open."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._after_blank = False
        self._line = 0

    @property
    def open(self) -> Section | None:
        """The section that still grows."""
        last = self.sections[-1] if self.sections else None
        return None if last is None or last.closed else last

    def move_for(self, line: str) -> Move:
        """What a line would do, without doing it."""
        section = self.open
        blank = not line.strip(" ")
        if section is None:
            return Move.SKIP if blank else Move.START
        if section.kind is Kind.FENCE:
            closing = _indent(line) < 4 and _closes(section.fence, line)
            return Move.JOIN_LAST if closing else Move.JOIN
        if section.kind is Kind.INDENTED:
            return Move.JOIN if blank or _indent(line) >= 4 else Move.START
        if blank and section.kind is not Kind.ITEM:
            return Move.CLOSE
        return self._move_text(section, line)

    def _move_text(self, section: Section, line: str) -> Move:
        match section.kind:
            case Kind.ITEM:
                return self._move_in_item(section, line)
            case Kind.QUOTE:
                return self._move_in_quote(section, line)
            case Kind.TABLE:
                return Move.START if _interrupts(line) else Move.JOIN
            case Kind.FORMULA:
                return Move.JOIN_LAST if closes_block([section.lines[0], line]) else Move.JOIN
            case _:
                return self._move_in_paragraph(section, line)

    def _move_in_paragraph(self, section: Section, line: str) -> Move:
        if _heads_table(section.lines[-1], line):
            return Move.SPLIT
        if _SETEXT.match(line):
            return Move.JOIN_LAST
        return Move.START if _interrupts(line) else Move.JOIN

    def _move_in_item(self, section: Section, line: str) -> Move:
        if not line.strip(" ") or _indent(line) >= section.indent:
            return Move.JOIN
        lazy = not section.fence and section.lines[-1].strip(" ")
        return Move.JOIN if lazy and not (_ITEM.match(line) or _interrupts(line)) else Move.START

    def _move_in_quote(self, section: Section, line: str) -> Move:
        if line.lstrip(" ").startswith(">"):
            return Move.JOIN
        lazy = not section.fence and section.lines[-1].strip(" >")
        return Move.JOIN if lazy and not _interrupts(line) else Move.START

    def feed(self, line: str) -> None:
        """Take one whole line (no tabs, no line end)."""
        section = self.open
        match self.move_for(line):
            case Move.JOIN if section is not None:
                section.add(line)
            case Move.JOIN_LAST if section is not None:
                section.closed = True
                # the underline of a heading, the end of a formula; a fence is not code
                if section.kind is Kind.PARAGRAPH:
                    section.kind = Kind.HEADING
                if section.kind is not Kind.FENCE:
                    section.add(line)
            case Move.CLOSE if section is not None:
                section.closed = True
            case Move.SPLIT if section is not None:
                self._split(section, line)
            case Move.START:
                self._start(classify(line), line)
        self._after_blank = not line.strip(" ")
        self._line += 1

    def _start(self, section: Section, line: str) -> None:
        before = self.sections[-1] if self.sections else None
        section.first_line = self._line
        if before is not None:
            before.closed = True
            is_close = section.kind is Kind.ITEM and before.kind in {Kind.ITEM, Kind.PARAGRAPH}
            section.gap = self._after_blank or not is_close
            if section.number is not None and before.mark == section.mark:
                section.number = (before.number or 0) + 1
        section.add(line)
        self.sections.append(section)

    def _split(self, section: Section, line: str) -> None:
        if len(section.lines) == 1:
            section.kind = Kind.TABLE
            section.add(line)
            return
        head = section.lines.pop()
        section.chars -= len(head) + 1
        section.closed = True
        table = Section(Kind.TABLE, gap=True, first_line=self._line - 1)
        table.add(head)
        table.add(line)
        self.sections.append(table)

    def finish(self) -> None:
        """Close what is open."""
        if self.sections:
            self.sections[-1].closed = True
