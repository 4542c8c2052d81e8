"""One-line chrome: text cut to cells, pieces of a line, and the lines made of them."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.tui.keys import KeyHint

# What draws nothing may follow a letter without end; a cut is asked of this much per cell.
_LETTERS_PER_CELL = 8
APP_NAME: Final = "ollm"
_MAX_NAME_LENGTH: Final = 500
"""Characters of a title or a name that are looked at; no line shows as many."""
_MIN_TITLE_WIDTH: Final = 8
_GAP: Final = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line."""

    text: str
    look: str = ""
    """The end of the component class: `title` is `header--title` in the header; empty for none."""

    @property
    def width(self) -> int:
        """The width in cells."""
        return cell_len(self.text)


def cut(text: str, width: int) -> str:
    """Return at most `width` cells of a text; an ellipsis replaces the rest."""
    if width <= 0:
        return ""
    kept = text[: width * _LETTERS_PER_CELL]
    if kept == text and cell_len(text) <= width:
        return text
    return set_cell_size(kept, min(width - 1, cell_len(kept))).rstrip() + "…"


def cut_start(text: str, width: int) -> str:
    """Return at most `width` cells of a host, with its end, which shows who owns it."""
    if cell_len(text) <= width:
        return text
    kept = text[-max(width - 1, 0) :] if width > 1 else ""
    while cell_len(kept) >= width > 0:
        kept = kept[1:]
    return f"…{kept}" if width > 0 else ""


def fit(text: str, width: int, *, is_right: bool = False) -> str:
    """Return exactly `width` cells: cut, or filled with spaces, on the left if it is right."""
    short = cut(text, width)
    spaces = " " * max(0, width - cell_len(short))
    return spaces + short if is_right else short + spaces


def width_of(pieces: Iterable[Piece]) -> int:
    """The width of all pieces in cells."""
    return sum(piece.width for piece in pieces)


def plain(pieces: Iterable[Piece]) -> str:
    """The text of all pieces."""
    return "".join(piece.text for piece in pieces)


def spread(left: list[Piece], right: list[Piece], width: int) -> list[Piece]:
    """Align pieces to the left and the right edge of a line."""
    gap = width - width_of(left) - width_of(right)
    return [*left, Piece(" " * max(0, gap)), *right]


def paint(widget: Widget, prefix: str, pieces: Iterable[Piece], width: int) -> Strip:
    """Draw pieces in the component styles of a widget, exactly `width` cells."""
    base = widget.rich_style
    styles = {"": base}

    def style(look: str) -> Style:
        if look not in styles:
            styles[look] = base + widget.get_component_rich_style(f"{prefix}--{look}")
        return styles[look]

    segments = [Segment(piece.text, style(piece.look)) for piece in pieces]
    return Strip(segments).adjust_cell_length(width, base)


def header_line(title: str, model: str, provider: str, width: int) -> list[Piece]:
    """Fill the line; the title gives way first, then the provider, then the model's end."""
    inner = max(0, width - 2)
    name = Piece(APP_NAME, "name")
    room = inner - name.width - _GAP
    right = _model(model, provider, room)
    taken = sum(piece.width for piece in right)
    left = [name]
    space = room - taken - _GAP
    if title and space >= _MIN_TITLE_WIDTH:
        left += [
            Piece(" " * _GAP),
            Piece(cut(clean_line(title[:_MAX_NAME_LENGTH]), space), "title"),
        ]
    return [Piece(" "), *spread(left, right, inner), Piece(" ")]


def _model(model: str, provider: str, room: int) -> list[Piece]:
    name = Piece(clean_name(model[:_MAX_NAME_LENGTH]), "model")
    at = Piece(f"· {clean_name(provider[:_MAX_NAME_LENGTH])}", "quiet")
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
        border-bottom: solid $foreground-disabled;
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

    @property
    def model(self) -> tuple[str, str]:
        """The model that is shown, and its provider."""
        return self._model

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
