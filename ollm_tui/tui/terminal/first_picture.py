"""The picture of the first frame, kept for the next start."""

import logging
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from rich.segment import Segment
from rich.style import Style
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import TextArea

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import TooLongError, read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.first_frame import FILE_NAME, MAX_BYTES, Picture, to_bytes

logger = logging.getLogger(__name__)

_CELL: Final = "x"
_NO_STYLE: Final = Style()


@dataclass(frozen=True, slots=True)
class KeptPicture:
    """Where the picture is kept, and under which conditions it may be shown."""

    folder: Path
    known: str

    async def keep(self, screen: Screen[Any], prompt: TextArea) -> None:
        """Keep what a screen with an empty prompt shows, unless that is kept already."""
        data = to_bytes(self.known, picture_of(screen, prompt))
        if len(data) <= MAX_BYTES:
            await anyio.to_thread.run_sync(self._write, data)

    def _kept(self, path: Path) -> bytes | None:
        try:
            return read_bounded(path, MAX_BYTES, follows_links=False)
        except (OSError, TooLongError):
            return None

    def _write(self, data: bytes) -> None:
        path = self.folder / FILE_NAME
        try:
            if self._kept(path) != data:
                write_private(path, data, lasting=False)
        except OSError as error:  # the next start is slower, that is all
            logger.info("the first frame was not kept: %s", error.strerror)


def picture_of(screen: Screen[Any], prompt: TextArea) -> Picture:
    """Return what a screen shows, and what typing into its empty prompt would look like."""
    compositor = screen._compositor
    rows = compositor._render_chops(compositor.size.region, lambda _row: True)
    console = screen.app.console

    drawn = "".join(
        f"\x1b[{number};1H" + "".join(strip.render(console) for strip in chops.values())
        for number, chops in enumerate(rows, 1)
    )
    place, end = prompt.cursor_screen_offset, prompt.content_region.right
    theme = prompt._theme
    text = prompt.rich_style + (theme.base_style or _NO_STYLE)
    cursor = text + (theme.cursor_style or _NO_STYLE)
    return Picture(
        drawn,
        row=place.y + 1,
        column=place.x + 1,
        width=end - place.x,
        text=_colours(text, prompt),
        cursor=_colours(cursor, prompt),
    )


def _colours(style: Style, prompt: TextArea) -> str:
    """Return the sequence for a style, as far as the app's filters leave it."""
    cell = Strip([Segment(_CELL, style)])
    for line_filter in prompt.get_line_filters():
        cell = cell.apply_filter(line_filter, prompt.background_colors[1])
    return cell.render(prompt.app.console).partition(_CELL)[0]
