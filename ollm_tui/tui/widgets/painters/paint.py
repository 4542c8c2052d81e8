"""The final look of a section: a function of its source and the canvas, nothing else."""

from collections.abc import Iterator

from ollm_tui.tui.widgets.painters.code import code_rows, note_row
from ollm_tui.tui.widgets.painters.flow import (
    FlowPainter,
    heading_rows,
    paragraph_rows,
    rule_row,
)
from ollm_tui.tui.widgets.painters.inline import too_costly
from ollm_tui.tui.widgets.painters.palette import Canvas
from ollm_tui.tui.widgets.painters.plain import plain_rows
from ollm_tui.tui.widgets.painters.rows import Row
from ollm_tui.tui.widgets.painters.sections import Kind, Section
from ollm_tui.tui.widgets.painters.table import table_rows


def code_lines(section: Section) -> list[str]:
    """The code of a code section, without fences and their indentation."""
    if section.kind is Kind.INDENTED:
        return [line[4:] for line in section.lines]
    if not section.indent:
        return section.lines[1:]
    return [
        line[min(section.indent, len(line) - len(line.lstrip(" "))) :] for line in section.lines[1:]
    ]


def section_rows(section: Section, canvas: Canvas) -> Iterator[Row]:
    """Paint one section; rows come one by one so that the caller can stop and go on."""
    match section.kind:
        case Kind.RULE:
            yield rule_row(canvas)
        case Kind.FENCE:
            yield from code_rows(code_lines(section), section.language, canvas)
        case Kind.INDENTED:
            lines = code_lines(section)
            while lines and not lines[-1].strip():
                lines.pop()
            yield from code_rows(lines, "", canvas)
        case Kind.TABLE:
            yield from table_rows(section.lines, canvas)
        case _ if section.chars > 200_000 or too_costly(section.source):
            yield from _unformatted(section, "too long to be formatted", canvas)
        case Kind.HEADING:
            yield from _heading(section, canvas)
        case Kind.PARAGRAPH:
            yield from paragraph_rows(section.source, canvas)
        case Kind.ITEM | Kind.QUOTE:
            rows = FlowPainter(canvas, number=section.number).paint(section.source)
            yield from rows or _unformatted(section, "nested too deep to be formatted", canvas)


def _heading(section: Section, canvas: Canvas) -> Iterator[Row]:
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
