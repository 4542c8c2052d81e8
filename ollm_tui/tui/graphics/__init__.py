"""Pictures that the terminal draws itself, by a protocol of its own."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.graphics.inline import InlineProtocol, PixelRows, inline_cells
    from ollm_tui.tui.graphics.kitty import colour_of, placeholders
    from ollm_tui.tui.graphics.protocols import CellSize, PictureProtocol, cell_size, protocol_for
    from ollm_tui.tui.graphics.terminal import TerminalPictures, terminal_pictures
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "inline": ("InlineProtocol", "PixelRows", "inline_cells"),
            "kitty": ("colour_of", "placeholders"),
            "protocols": ("CellSize", "PictureProtocol", "cell_size", "protocol_for"),
            "terminal": ("TerminalPictures", "terminal_pictures"),
        },
    )

__all__ = [
    "CellSize",
    "InlineProtocol",
    "PictureProtocol",
    "PixelRows",
    "TerminalPictures",
    "cell_size",
    "colour_of",
    "inline_cells",
    "placeholders",
    "protocol_for",
    "terminal_pictures",
]
