"""The final look of a section: a function of its source and the canvas, nothing else."""

from collections.abc import Iterator
from itertools import chain, islice

from ollm_tui.tui.transcript.painters.code import code_rows, label_row, note_row, plain_code_rows
from ollm_tui.tui.transcript.painters.flow import (
    FlowPainter,
    heading_rows,
    paragraph_rows,
    rule_row,
)
from ollm_tui.tui.transcript.painters.flow import too_costly as flow_too_costly
from ollm_tui.tui.transcript.painters.inline import too_costly
from ollm_tui.tui.transcript.painters.lexing import find_lexer
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.plain import plain_rows
from ollm_tui.tui.transcript.painters.rows import Row, Step
from ollm_tui.tui.transcript.painters.sections import Kind, Section
from ollm_tui.tui.transcript.painters.table import table_rows

PLAIN_FIRST = 8_000
CODE_PLAIN_FIRST = 20_000
"""A section with more characters is shown without formatting first, and refined when idle."""


def code_lines(section: Section, start: int = 0) -> Iterator[str]:
    """The code of a code section from a line on, without fences and their indentation."""
    indent = 4 if section.kind is Kind.INDENTED else section.indent
    for number in range(start + (section.kind is Kind.FENCE), len(section.lines)):
        line = section.lines[number]
        cut = 0 if not indent else min(indent, len(line) - len(line.lstrip(" ")))
        yield line[cut:]


def _closed_code(section: Section) -> Iterator[str]:
    """All lines of a block; one that is only indented does not end with blank lines."""
    lines = code_lines(section)
    if section.kind is Kind.FENCE:
        return lines
    count = len(section.lines)
    while count and not section.lines[count - 1].strip():
        count -= 1
    return islice(lines, count)


def rough_rows(section: Section, canvas: Canvas) -> Iterator[Row] | None:
    """What is shown first of a section that takes long to format; None for all others."""
    match section.kind:
        case Kind.FENCE | Kind.INDENTED:
            if section.chars <= CODE_PLAIN_FIRST or find_lexer(section.language) is None:
                return None
            return chain(
                [label_row(section.language, canvas)],
                plain_code_rows(_closed_code(section), canvas, at_least=False),
            )
        case Kind.RULE | Kind.TABLE:
            return None
        case _ if section.chars <= PLAIN_FIRST or _stays_rough(section):
            return None
        case _:
            return plain_rows(section.source, canvas.width, canvas.palette.text)


def _stays_rough(section: Section) -> bool:
    """Is this text too much to be formatted at all?"""
    if section.kind in {Kind.ITEM, Kind.QUOTE}:
        return flow_too_costly(section.source) or too_costly(section.source)
    return too_costly(section.source)


def section_rows(section: Section, canvas: Canvas) -> Iterator[Step]:
    """Paint one section; rows come one by one so that the caller can stop and go on."""
    match section.kind:
        case Kind.RULE:
            yield rule_row(canvas)
        case Kind.FENCE | Kind.INDENTED:
            yield from code_rows(_closed_code(section), section.language, canvas)
        case Kind.TABLE:
            yield from table_rows(section.lines, canvas)
        case _ if _stays_rough(section):
            yield from _unformatted(section, "too long to be formatted", canvas)
        case Kind.HEADING:
            yield from _heading(section, canvas)
        case Kind.PARAGRAPH:
            yield from paragraph_rows(section.source, canvas)
        case Kind.ITEM | Kind.QUOTE:
            rows = FlowPainter(canvas, number=section.number).paint(section.source)
            yield from rows or _unformatted(section, "nested too deep to be formatted", canvas)


def _heading(section: Section, canvas: Canvas) -> Iterator[Step]:
    if len(section.lines) > 1:
        text = " ".join(line.strip() for line in section.lines[:-1])
        yield from heading_rows(text, 1 if "=" in section.lines[-1] else 2, canvas)
        return
    line = section.lines[0].strip()
    text = line.lstrip("#")
    level = len(line) - len(text)
    text = text.strip()
    bare = text.rstrip("#")
    yield from heading_rows(bare.strip() if bare.endswith(" ") or not bare else text, level, canvas)


def _unformatted(section: Section, why: str, canvas: Canvas) -> Iterator[Row]:
    yield from plain_rows(section.source, canvas.width, canvas.palette.text)
    yield note_row(why, canvas)
