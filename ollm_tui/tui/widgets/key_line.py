"""One line that names the keys that matter now; the least important are left out first."""

from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.keys import KeyHint
from ollm_tui.tui.widgets.chrome import Piece, paint, width_of


def key_pieces(keys: Sequence[KeyHint], width: int) -> list[Piece]:
    """Return as many keys as fit, the first ones first."""
    line = [Piece(" ")]
    for key in keys:
        more = [Piece(key.label, "key"), Piece(f" {key.description}  ", "quiet")]
        if width_of([*line, *more]) > width + 1:
            break
        line += more
    return line


class KeyLine(Widget):
    """One line of keys with what they do."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--quiet"}
    DEFAULT_CSS = """
    KeyLine {
        height: 1;
        color: $foreground;
        & .key-line--key { color: $text-accent; text-style: bold; }
        & .key-line--quiet { color: $text-muted; }
        &:ansi .key-line--quiet { text-style: dim; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._keys: Sequence[KeyHint] = ()

    def show(self, keys: Sequence[KeyHint]) -> None:
        """Show these keys, the one that matters most first."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the line."""
        width = self.size.width
        return paint(self, "key-line", key_pieces(self._keys, width), width)
