"""Where the code blocks of a painted answer are, and their source as it came."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ollm_tui.tui.transcript.painters.inline import parser
from ollm_tui.tui.transcript.painters.plain_painter import LineEnds
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
