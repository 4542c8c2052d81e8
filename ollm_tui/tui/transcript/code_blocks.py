"""The code blocks of a painted answer: where they are, and their source as it came."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.painters.inline import parser
from ollm_tui.tui.transcript.painters.plain import LineEnds
from ollm_tui.tui.transcript.painters.rows import Row
from ollm_tui.tui.transcript.painters.sections import Kind, Section

Painted: TypeAlias = tuple[Section, int, Sequence[Row]]
"""A section, the number of its first row in the answer, and its rows."""
_INDENTED: Final = 4


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """The rows from `first` up to `end`, which show block number `number` of a section."""

    first: int
    end: int
    section: Section
    number: int


def code_blocks(sections: Iterable[Painted]) -> Iterator[CodeBlock]:
    """Find them all, those inside items and quotations too."""
    for section, first, rows in sections:
        match section.kind:
            case Kind.FENCE | Kind.INDENTED:
                # Below it may stand a remark of the app, which has no background.
                end = len(rows) - (rows[-1].fill is None)
                yield CodeBlock(first, first + end, section, 0)
            case Kind.ITEM | Kind.QUOTE:
                for number, (start, end) in enumerate(_filled(rows)):
                    yield CodeBlock(first + start, first + end, section, number)
            case _:
                pass


def _filled(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Runs of rows with a background: only code has one, and a gap follows each block."""
    start: int | None = None
    for number, row in enumerate(rows):
        if row.fill is not None and start is None:
            start = number
        elif row.fill is None and start is not None:
            yield start, number
            start = None
    if start is not None:
        yield start, len(rows)


def code_text(answer: str, block: CodeBlock) -> str:
    """The code as it stands in an answer: tabs and spaces kept, without the last line's end."""
    section = block.section
    lines = LineEnds().feed(answer).split("\n")
    end = section.first_line + len(section.lines) if section.closed else len(lines)
    own = lines[section.first_line : end]
    match section.kind:
        case Kind.FENCE:
            return "\n".join(_outdented(line, section.indent) for line in own[1:])
        case Kind.INDENTED:
            return "\n".join(_outdented(line, _INDENTED) for line in own).rstrip(" \t\n")
        case _:
            texts = _nested("\n".join(own))
            if block.number >= len(texts):  # where a tab made the difference
                texts = _nested(section.source)
            return texts[block.number] if block.number < len(texts) else ""


def _outdented(line: str, columns: int) -> str:
    """Take away white space of as many columns, at most."""
    spaces = min(columns, len(line) - len(line.lstrip(" ")))
    is_tab = spaces < columns == _INDENTED and line[spaces : spaces + 1] == "\t"
    return line[spaces + is_tab :]


def _nested(source: str) -> list[str]:
    tokens = parser().parse(source)
    return [
        token.content.removesuffix("\n")
        for token in tokens
        if token.type in {"fence", "code_block"}
    ]


@runtime_checkable
class _HasSections(Protocol):
    def sections(self) -> Iterator[Painted]: ...


class CodeSteps:
    """The code block of one answer that is gone to; None before the first and after the last."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._seen: tuple[object, object, int] | None = None
        self._found: list[CodeBlock] = []
        self._at: int | None = None

    @property
    def _blocks(self) -> list[CodeBlock]:
        """All of them now: an answer may grow, or be painted again at another width."""
        seen = self._block.painter, self._block.canvas, self._block.row_count
        if seen != self._seen:
            self._seen = seen
            self._found = list(blocks_of(self._block))
        return self._found

    @property
    def count(self) -> int:
        """How many the answer has."""
        return len(self._blocks)

    @property
    def is_on(self) -> bool:
        """Is it on a code block, whether or not that one is painted now?"""
        return self._at is not None

    @property
    def current(self) -> CodeBlock | None:
        """Where it is."""
        blocks, at = self._blocks, self._at
        return blocks[at] if at is not None and at < len(blocks) else None

    def step(self, direction: int) -> CodeBlock | None:
        """Go to the next one; past the last, and before the first, to the whole answer again."""
        places = [None, *range(self.count)]
        at = 0 if self.current is None or self._at is None else self._at + 1
        self._at = places[(at + direction) % len(places)]
        return self.current

    @property
    def text(self) -> str | None:
        """Its source."""
        found = self.current
        return None if found is None else code_text(self._block.source.text, found)

    def has_row(self, offset: int) -> bool:
        """Does it have this row of the block?"""
        found = self.current
        return found is not None and found.first <= offset - self._block.lead < found.end


def blocks_of(block: Block) -> Iterator[CodeBlock]:
    """The code blocks of what a block shows now."""
    if isinstance(block.painter, _HasSections):
        yield from code_blocks(block.painter.sections())


def code_at(block: Block, offset: int) -> str | None:
    """The source of the code block that has a row of a block."""
    place = offset - block.lead
    for found in blocks_of(block):
        if found.first <= place < found.end:
            return code_text(block.source.text, found)
    return None
