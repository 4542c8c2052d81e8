"""The word above a code block that copies it when it is clicked."""

from typing import Final

from rich.cells import cell_len
from rich.style import Style

from ollm_tui.tui.transcript.painters.rows import Row

_META: Final = "copy"


def copying(style: Style) -> Style:
    """The style of such a word: what it does never goes to the terminal."""
    return style + Style.from_meta({_META: True})


def copies(row: Row, cell: int) -> bool:
    """Is there such a word at a cell of a row?"""
    for text, style, _control in row.segments:
        cell -= cell_len(text)
        if cell < 0:
            return style is not None and bool(style.meta.get(_META))
    return False
