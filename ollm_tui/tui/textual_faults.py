"""Faults of Textual that end an app and can be mended from no widget; each one in this place.

Textual's version is pinned. A test shows for each that the stock code still fails: when that test
fails, Textual has mended it, and what stands here goes.
"""

from typing import Any, Final

from textual.content import Content

_STOCK_WRAP: Final = Content._wrap_and_format


def mend_textual() -> None:
    """Put the mended code in the place of the stock code; doing it again changes nothing."""
    Content._wrap_and_format = _wrap_with_room  # type: ignore[method-assign]


def _wrap_with_room(self: Content, width: int, *args: Any, **options: Any) -> Any:
    """Wrap in one cell at least.

    A widget whose border, padding and scrollbar take all of its width has none left for text, and
    the stock code divides by that width. It shows nothing of the text either way.
    """
    room = max(width, 1 + 2 * options.get("line_pad", 0))
    return _STOCK_WRAP(self, room, *args, **options)
