"""The help dialog: all keys and commands, from their tables."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.keys import EDITING, SCREENS, Key, Keymap

if TYPE_CHECKING:
    from ollm_tui.commands.registry import Command

COLUMN = 22
STACKED_BELOW = 40
"""In fewer cells the description of a key is written below it."""
_READING = frozenset({"cursor", "caret"})


class Help(Dialog[None]):
    """All keys and commands on one page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,f1,q", "dismiss(None)", "Close", show=False, priority=True)
    ]
    DEFAULT_CSS = """
    Help {
        & > Vertical { height: 90%; }
        &.-low > Vertical { height: 100%; }
        VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
        #page { height: auto; width: 1fr; }
    }
    """

    def __init__(self, keymap: Keymap, commands: "Sequence[Command]", scope: str = "") -> None:
        """Show all keys and commands; those of the screen of this `scope` come first."""
        super().__init__()
        elsewhere = _READING | SCREENS.keys()
        self._keys = [key for key in keymap.keys if key.scope not in elsewhere]
        self._further = {"While browsing messages": keymap.of_scopes(*_READING)}
        self._further |= {head: keymap.of_scopes(scope) for scope, head in SCREENS.items()}
        head = SCREENS.get(scope)
        self._first = {head: self._further.pop(head)} if head else {}
        self._commands = commands

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        with Vertical():
            yield Static("Help", classes="title", markup=False)
            with VerticalScroll():
                yield Static("", id="page", markup=False)
            yield Static("Esc close · Up Down PgUp PgDn scroll", id="about", markup=False)

    def on_mount(self) -> None:
        """Focus the page, so that keys scroll it."""
        self.set_focus(self.query_one(VerticalScroll))

    def on_resize(self, event: Resize) -> None:
        """Lay out the page for the new width."""
        width = max(1, min(84, event.size.width * 94 // 100) - 8)
        page = help_page(self._first, self._keys, self._further, self._commands, width)
        self.query_one("#page", Static).update(page)


def help_page(
    first: Mapping[str, Iterable[Key]],
    keys: Iterable[Key],
    further: Mapping[str, Iterable[Key]],
    commands: "Iterable[Command]",
    width: int,
) -> Content:
    """Return all keys and commands in `width` cells."""
    command_rows = [(_call(command), command.help) for command in commands]
    return Content("\n").join(
        [
            *(line for head, rows in first.items() for line in _section(head, rows, width)),
            *_section("Keys", keys, width),
            Content.styled("Commands", "bold $primary"),
            *_table(command_rows, width),
            Content(""),
            Content.styled("A line that begins with // is sent with one slash.", "$text-muted"),
            Content(""),
            *(line for head, rows in further.items() for line in _section(head, rows, width)),
            Content.styled("In the input", "bold $primary"),
            *_table(_key_rows(EDITING), width),
        ]
    )


def _section(head: str, keys: Iterable[Key], width: int) -> Iterator[Content]:
    yield Content.styled(head, "bold $primary")
    yield from _table(_key_rows(keys), width)
    yield Content("")


def _key_rows(keys: Iterable[Key]) -> list[tuple[str, str]]:
    return [(key.shown, key.description + (f" ({key.when})" if key.when else "")) for key in keys]


def _call(command: "Command") -> str:
    names = ", ".join(f"/{name}" for name in (command.name, *command.aliases))
    return f"{names} {command.usage}".strip()


def _table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[Content]:
    if width < STACKED_BELOW:
        yield from _stack(rows, width)
        return
    column = min(COLUMN, width * 2 // 5)
    for left, right in rows:
        rights = textwrap.wrap(right, max(10, width - column - 2))
        for one, other in zip_longest(textwrap.wrap(left, column), rights, fillvalue=""):
            yield Content.assemble((one.ljust(column), "bold"), "  ", (other, "$text-muted"))


def _stack(rows: Sequence[tuple[str, str]], width: int) -> Iterator[Content]:
    for left, right in rows:
        yield from (Content.styled(line, "bold") for line in textwrap.wrap(left, width))
        indented = textwrap.wrap(right, width, initial_indent="  ", subsequent_indent="  ")
        yield from (Content.styled(line, "$text-muted") for line in indented)
