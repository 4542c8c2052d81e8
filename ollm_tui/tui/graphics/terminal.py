"""The pictures of a terminal: which protocol draws them, and those that it has."""

import logging
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.tui.graphics.kitty import MAX_KEPT, PLACEHOLDER, KittyPictures
from ollm_tui.tui.graphics.protocols import USUAL_CELL, CellSize, PictureProtocol, has_sixel

if TYPE_CHECKING:
    from textual.app import App

    from ollm_tui.tui.graphics.inline import InlinePictures, InlineProtocol, PixelRows

logger = logging.getLogger(__name__)

_ASK_ATTRIBUTES: Final = "\x1b[c"
_ASK_CELL: Final = "\x1b[16t"
MAX_WAITING: Final = 6
"""Texts that may wait to be written, about two frames, before pictures are left out."""


class TerminalPictures:
    """Draws pictures by each protocol, and asks the terminal about them with the first one."""

    def __init__(
        self,
        write: Callable[[str], object],
        measure: Callable[[], CellSize | None] = lambda: None,
        draw_again: Callable[[], object] = lambda: None,
    ) -> None:
        """Send pictures with `write`.

        `measure` returns the size of a cell if the system knows it; `draw_again` has the whole
        screen drawn, and is called from the thread that writes.
        """
        self.kitty = KittyPictures(write)
        self._write, self._measure, self._draw_again = write, measure, draw_again
        self._is_asked = False
        self._attributes: frozenset[int] | None = None
        self._cell: CellSize | None = None
        self._waiting: dict[Callable[[], object], None] = {}
        self._is_owing = False

    @cached_property
    def inline(self) -> "InlinePictures":
        """The pictures that are drawn with their cells."""
        # Loaded with the first picture.
        from ollm_tui.tui.graphics.inline import InlinePictures

        return InlinePictures()

    @property
    def draws_pixels(self) -> bool:
        """Whether pictures are drawn as pixels, which do not move with the text of their cells."""
        return "inline" in self.__dict__ and bool(self.inline)

    @property
    def cell(self) -> CellSize:
        """The size of a cell in pixels, as far as it is known."""
        return self._measure() or self._cell or USUAL_CELL

    def protocol(
        self, wanted: PictureProtocol, when_known: Callable[[], object]
    ) -> PictureProtocol:
        """Return what draws a picture now; `when_known` is called if the terminal says more."""
        if wanted not in {"auto", "sixel"}:
            return wanted
        if not self._is_asked:
            self._is_asked = True
            self._write(_ASK_ATTRIBUTES if self._measure() else _ASK_CELL + _ASK_ATTRIBUTES)
        if self._attributes is None:
            self._waiting[when_known] = None
            if len(self._waiting) > MAX_KEPT:
                del self._waiting[next(iter(self._waiting))]
        if wanted == "sixel":
            return wanted
        return "sixel" if has_sixel(self._attributes or ()) else "blocks"

    def report_cell(self, cell: CellSize | None) -> None:
        """Take the terminal's answer about its cells, which comes before its attributes."""
        self._cell = cell

    def report_attributes(self, attributes: Iterable[int]) -> None:
        """Take the terminal's answer about what it can do."""
        if self._is_asked and self._attributes is None:
            self._attributes = frozenset(attributes)
            waiting, self._waiting = self._waiting, {}
            for when_known in waiting:
                when_known()

    def has(self, picture_id: int) -> bool:
        """Whether a picture can still be shown."""
        return self.kitty.has(picture_id) or self.inline.has(picture_id)

    def send(self, png: bytes, columns: int, rows: int) -> int:
        """Send a picture by kitty's protocol; return its id."""
        return self.kitty.send(png, columns, rows)

    def keep(self, picture: "PixelRows", protocol: "InlineProtocol") -> int:
        """Keep a picture that is drawn with its cells; return its id."""
        return self.inline.keep(picture, protocol)

    def forget(self, picture_id: int) -> None:
        """Delete a picture; a no-op if it is not there."""
        self.kitty.forget(picture_id)
        self.inline.forget(picture_id)

    def drawn(self, text: str, waiting: int) -> str:
        """Return what is written in place of a text, while so many texts wait behind it.

        A terminal that is behind gets blanks for pictures, and once it has caught up, the screen
        again.
        """
        is_behind = waiting > MAX_WAITING
        drawn = self._drawn(text, blank=is_behind) if PLACEHOLDER in text else text
        self._is_owing |= is_behind and drawn != text
        if self._is_owing and not waiting:
            self._is_owing = False
            self._draw_again()
        return drawn

    def _drawn(self, text: str, *, blank: bool) -> str:
        try:
            return self.inline.drawn(text, blank=blank)
        except Exception:  # nothing more would be written at all
            logger.exception("a picture cannot be drawn")
            return self.inline.drawn(text, blank=True)


def terminal_pictures(app: "App[Any]") -> TerminalPictures | None:
    """Return the pictures of the app's terminal, or None if its driver shows none."""
    pictures: TerminalPictures | None = getattr(app._driver, "pictures", None)
    return pictures
