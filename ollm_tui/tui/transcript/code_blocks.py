"""The code blocks of a painted answer: where they are, and their source as it came."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters import Kind, LineEnds, MarkdownPainter, Row, Section, parser
from ollm_tui.tui.transcript.block import Block

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
    """Yield all code blocks, those inside items and quotations too."""
    for section, first, rows in sections:
        match section.kind:
            case Kind.FENCE | Kind.INDENTED:
                # Below it may stand a remark of the app, which has no background.
                end = len(rows) - (rows[-1].fill is None)
                yield CodeBlock(first, first + end, section, 0)
            case Kind.ITEM | Kind.QUOTE:
                for number, (start, end) in enumerate(_filled(rows)):
                    yield CodeBlock(first + start, first + end, section, number)


def _filled(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Runs of rows with a background: only code has one, and a gap follows each block."""
    for is_code, run in groupby(range(len(rows)), key=lambda number: rows[number].fill is not None):
        if is_code:
            first, *others = run
            yield first, first + 1 + len(others)


def code_text(answer: str, block: CodeBlock) -> str:
    """The code as it is in an answer: tabs and spaces kept, without the last line's end."""
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
    """Remove white space of at most so many columns."""
    spaces = min(columns, len(line) - len(line.lstrip(" ")))
    is_tab = spaces < columns == _INDENTED and line[spaces : spaces + 1] == "\t"
    return line[spaces + is_tab :]


def _nested(source: str) -> list[str]:
    code = (token for token in parser().parse(source) if token.type in {"fence", "code_block"})
    return [token.content.removesuffix("\n") for token in code]


class CodeSteps:
    """The current code block of an answer; None before the first and after the last."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._painted_for: tuple[object, object, int] | None = None
        self._code_blocks: list[CodeBlock] = []
        self._at: int | None = None

    @property
    def _blocks(self) -> list[CodeBlock]:
        """The code blocks now: an answer may grow, or be painted again at another width."""
        state = self._block.painter, self._block.canvas, self._block.row_count
        if state != self._painted_for:
            self._painted_for = state
            self._code_blocks = list(blocks_of(self._block))
        return self._code_blocks

    @property
    def count(self) -> int:
        """The number of code blocks of the answer."""
        return len(self._blocks)

    @property
    def is_on(self) -> bool:
        """Whether a code block is current, painted or not."""
        return self._at is not None

    @property
    def current(self) -> CodeBlock | None:
        """The current code block."""
        blocks, at = self._blocks, self._at
        return blocks[at] if at is not None and at < len(blocks) else None

    def step(self, direction: int) -> CodeBlock | None:
        """Go to the next one; past the last, and before the first, comes the whole answer."""
        stops = [None, *range(self.count)]
        at = 0 if self.current is None or self._at is None else self._at + 1
        self._at = stops[(at + direction) % len(stops)]
        return self.current

    @property
    def text(self) -> str | None:
        """The source of the current code block."""
        current = self.current
        return None if current is None else code_text(self._block.source.text, current)

    def has_row(self, offset: int) -> bool:
        """Whether a row of the block belongs to the current code block."""
        current = self.current
        return current is not None and current.first <= offset - self._block.lead < current.end


def blocks_of(block: Block) -> Iterator[CodeBlock]:
    """The code blocks in the painted rows of a block."""
    if isinstance(block.painter, MarkdownPainter):
        yield from code_blocks(block.painter.rows.painted())


def code_at(block: Block, offset: int) -> str | None:
    """The source of the code block that has a row of a block."""
    row = offset - block.lead
    for code_block in blocks_of(block):
        if code_block.first <= row < code_block.end:
            return code_text(block.source.text, code_block)
    return None
