"""Painters turn text into rows of styled segments; they know neither app nor widgets."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.painters.code import code_meanings
    from ollm_tui.tui.painters.inline import parser
    from ollm_tui.tui.painters.json_tree import TreePainter, TreeSource
    from ollm_tui.tui.painters.links import FoundLink, address_at
    from ollm_tui.tui.painters.markdown import MarkdownPainter, links_in, load_markdown
    from ollm_tui.tui.painters.painter import Change, Offsets, PaintedRows, Painter, WholePainter
    from ollm_tui.tui.painters.plain import LineEnds, PlainPainter, plain_rows
    from ollm_tui.tui.painters.rows import (
        BLANK,
        Canvas,
        Palette,
        Row,
        at_cell,
        has_copy_word,
        row_cells,
        source_of,
    )
    from ollm_tui.tui.painters.sections import Kind, Section
    from ollm_tui.tui.painters.tool_call import (
        MAX_OUTPUT_LENGTH,
        OPEN_ROWS,
        PEEK_ROWS,
        Fold,
        ToolCall,
        ToolPainter,
    )
    from ollm_tui.tui.painters.wrapping import wrap, wrapped_rows
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "code": ("code_meanings",),
            "inline": ("parser",),
            "json_tree": (
                "TreePainter",
                "TreeSource",
            ),
            "links": (
                "FoundLink",
                "address_at",
            ),
            "markdown": (
                "MarkdownPainter",
                "links_in",
                "load_markdown",
            ),
            "painter": (
                "Change",
                "Offsets",
                "PaintedRows",
                "Painter",
                "WholePainter",
            ),
            "plain": (
                "LineEnds",
                "PlainPainter",
                "plain_rows",
            ),
            "rows": (
                "BLANK",
                "Canvas",
                "Palette",
                "Row",
                "at_cell",
                "has_copy_word",
                "row_cells",
                "source_of",
            ),
            "sections": (
                "Kind",
                "Section",
            ),
            "tool_call": (
                "Fold",
                "MAX_OUTPUT_LENGTH",
                "OPEN_ROWS",
                "PEEK_ROWS",
                "ToolCall",
                "ToolPainter",
            ),
            "wrapping": (
                "wrap",
                "wrapped_rows",
            ),
        },
    )

__all__ = [
    "BLANK",
    "MAX_OUTPUT_LENGTH",
    "OPEN_ROWS",
    "PEEK_ROWS",
    "Canvas",
    "Change",
    "Fold",
    "FoundLink",
    "Kind",
    "LineEnds",
    "MarkdownPainter",
    "Offsets",
    "PaintedRows",
    "Painter",
    "Palette",
    "PlainPainter",
    "Row",
    "Section",
    "ToolCall",
    "ToolPainter",
    "TreePainter",
    "TreeSource",
    "WholePainter",
    "address_at",
    "at_cell",
    "code_meanings",
    "has_copy_word",
    "links_in",
    "load_markdown",
    "parser",
    "plain_rows",
    "row_cells",
    "source_of",
    "wrap",
    "wrapped_rows",
]
