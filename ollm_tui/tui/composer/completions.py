"""The list of suggestions above the composer, painted line by line."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.lazy import lazy_re
from ollm_tui.tui.widgets import Piece, fit, paint

if TYPE_CHECKING:
    # the commands are loaded after the first frame
    from ollm_tui.commands.parse import Suggestions
    from ollm_tui.commands.registry import Completion


@dataclass(frozen=True, slots=True)
class Menu:
    """An open list of suggestions."""

    suggestions: "Suggestions"
    index: int | None
    """None while nothing is chosen: then Enter sends what was typed."""

    @property
    def items(self) -> "tuple[Completion, ...]":
        """The suggestions, best first."""
        return self.suggestions.items

    @property
    def chosen(self) -> "Completion | None":
        """The suggestion that Enter would take."""
        return None if self.index is None else self.items[self.index]

    def moved(self, step: int) -> "Menu":
        """Choose another one, going round."""
        start = self.index if self.index is not None else (-1 if step > 0 else 0)
        return replace(self, index=(start + step) % len(self.items))


def open_menu(suggestions: "Suggestions | None") -> Menu | None:
    """Open the list; the first is chosen if Enter would take it anyway."""
    if suggestions is None:
        return None
    begun = bool(suggestions.query)
    return Menu(suggestions, 0 if begun and not suggestions.items[0].is_example else None)


_MAX_LENGTH: Final = 200
_MENTION: Final = lazy_re(rf"(?:^|(?<=[\s(\[\"']))@(?P<name>[^\s@]{{0,{_MAX_LENGTH}}})\Z")
_VALUE: Final = lazy_re(
    r"/[\w-]+:[^\s/]+[ \t](?:[^\n]*[ \t])?(?P<argument>[^\s=]+)=(?P<value>[^\s]*)\Z"
)
"""An argument of a server's prompt that is being written."""
_ATTACH: Final = lazy_re(r"/(?:attach|dictate)[ \t]+(?P<name>[^\n]*)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileQuery:
    """The beginning of a name that is looked up, of a file or at a server, and where it stands."""

    draft: str
    text: str
    """The part of the name that is written."""
    start: int
    """Where it begins in the draft: for a mention, after the `@`."""
    is_mention: bool
    argument: str = ""
    """The argument of a server's prompt whose value this is."""


def file_query(draft: str, cursor: int) -> FileQuery | None:
    """Return the file name that is being written at `cursor`, or None."""
    if match := _ATTACH.match(draft):
        return FileQuery(draft, match["name"], match.start("name"), is_mention=False)
    if match := _VALUE.match(draft):
        start = match.start("value")
        return FileQuery(draft, match["value"], start, False, match["argument"])
    if draft.startswith("/"):
        return None
    line = max(draft.rfind("\n", 0, cursor) + 1, cursor - _MAX_LENGTH - 2)
    match = _MENTION.search(draft[line:cursor])
    if match is None:
        return None
    return FileQuery(draft, match["name"], line + match.start("name"), is_mention=True)


MAX_ROWS: Final = 10
_MAX_VALUE_WIDTH: Final = 40
_INDENT: Final = "   "
"""Suggestions stand below each other as the text of the composer does."""


class Completions(Widget):
    """Shows a `Menu`; the composer owns it and has the keys."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completions--help", "completions--chosen"}
    DEFAULT_CSS = """
    Completions {
        display: none; overlay: screen; height: auto; offset-y: -100%; background: $surface;
        color: $foreground;
        &.-open { display: block; }
        & .completions--help { color: $text-muted; }
        & .completions--chosen {
            background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        &:ansi .completions--help { text-style: dim; }
        &:ansi .completions--chosen { text-style: reverse; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A suggestion was clicked."""

        index: int

    def __init__(self) -> None:
        super().__init__()
        self._menu: Menu | None = None
        self._top = 0

    def show(self, menu: Menu | None) -> None:
        """Show a list, or none."""
        before, self._menu = self._menu, menu
        self.set_class(menu is not None, "-open")
        if menu is None:
            return
        same_list = before is not None and before.suggestions is menu.suggestions
        index, top = menu.index or 0, self._top if same_list else 0
        self._top = max(index - _rows(menu, self.screen.size) + 1, min(index, top))
        self.refresh(layout=before is None or len(before.items) != len(menu.items))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for each suggestion, up to a limit."""
        return _rows(self._menu, viewport) if self._menu else 0

    def render_line(self, y: int) -> Strip:
        """Paint one suggestion."""
        menu, width, row = self._menu, self.size.width, self._top + y
        if menu is None or row >= len(menu.items):
            return Strip.blank(width, self.rich_style)
        column = min(_MAX_VALUE_WIDTH, max(cell_len(_value(item)) for item in menu.items))
        pieces = _pieces(menu.items[row], column, width, is_chosen=row == menu.index)
        return paint(self, "completions", pieces, width)

    def on_click(self, event: events.Click) -> None:
        """Choose the suggestion under the pointer."""
        row = self._top + event.y
        if self._menu and row < len(self._menu.items):
            self.post_message(self.Chosen(row))


def _rows(menu: Menu, screen: Size) -> int:
    return min(MAX_ROWS, len(menu.items), max(1, screen.height // 2))


def _value(item: "Completion") -> str:
    return clean_name(item.value)


def _pieces(item: "Completion", column: int, width: int, *, is_chosen: bool) -> list[Piece]:
    value = fit(_value(item), min(column, max(1, width - 2 * len(_INDENT))))
    name = Piece(f"{_INDENT}{value}  ", "chosen" if is_chosen else "")
    text = fit(clean_line(item.help), max(0, width - name.width))
    return [name, Piece(text, "chosen" if is_chosen else "help")]
