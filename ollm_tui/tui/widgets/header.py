"""The line above the transcript: the program, the chat and the model in use."""

from typing import ClassVar, Final

from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.tui.widgets.chrome import Piece, cut, paint, spread

APP_NAME: Final = "ollm"
_LONGEST_NAME: Final = 500
"""Characters of a title or a name that are looked at; no line shows as many."""
_LEAST_TITLE: Final = 8
_GAP: Final = 3


def header_line(title: str, model: str, provider: str, width: int) -> list[Piece]:
    """Fill the line; the title gives way first, then the provider, then the model's end."""
    inner = max(0, width - 2)
    name = Piece(APP_NAME, "name")
    room = inner - name.width - _GAP
    right = _model(model, provider, room)
    taken = sum(piece.width for piece in right)
    left = [name]
    space = room - taken - _GAP
    if title and space >= _LEAST_TITLE:
        left += [Piece(" " * _GAP), Piece(cut(clean_line(title[:_LONGEST_NAME]), space), "title")]
    return [Piece(" "), *spread(left, right, inner), Piece(" ")]


def _model(model: str, provider: str, room: int) -> list[Piece]:
    name = Piece(clean_name(model[:_LONGEST_NAME]), "model")
    at = Piece(f"· {clean_name(provider[:_LONGEST_NAME])}", "quiet")
    if provider and name.width + 1 + at.width <= room:
        return [name, Piece(" "), at]
    return [Piece(cut(name.text, room), "model")]


class ChatHeader(Widget):
    """Shows which chat this is and which model answers."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chat-header--name",
        "chat-header--title",
        "chat-header--model",
        "chat-header--quiet",
    }
    DEFAULT_CSS = """
    ChatHeader {
        height: 2;
        color: $foreground;
        border-bottom: solid $foreground 25%;
        & .chat-header--name { color: $text-accent; text-style: bold; }
        & .chat-header--quiet { color: $text-muted; }
        &:ansi { border-bottom: solid $border-blurred; }
        &:ansi .chat-header--quiet { text-style: dim; }
    }
    """

    def __init__(
        self, title: str = "", model: str = "", provider: str = "", *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._title = title
        self._model = (model, provider)

    def show_title(self, title: str) -> None:
        """Name the chat."""
        if title != self._title:
            self._title = title
            self.refresh()

    def show_model(self, model: str, provider: str = "") -> None:
        """Name the model, or say that there is none."""
        if (model, provider) != self._model:
            self._model = (model, provider)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the line."""
        width = self.size.width
        model, provider = self._model
        pieces = header_line(self._title, model or "no model", provider, width)
        return paint(self, "chat-header", pieces, width)
