"""Keys and commands, from the tables they are made of."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ollm_tui.tui.keymap import Key, display_all


class Described(Protocol):
    """What help says of a command."""

    @property
    def name(self) -> str:
        """Its name without the slash."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names."""
        ...

    @property
    def usage(self) -> str:
        """What may follow the name."""
        ...

    @property
    def help(self) -> str:
        """One sentence."""
        ...


class Help(ModalScreen[None]):
    """One page to scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,f1,q", "dismiss(None)", "Close", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Help {
        align: center middle;
        & > Vertical { width: 84; max-width: 94%; height: auto; max-height: 90%; }
        VerticalScroll { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }
        #page { height: auto; }
    }
    """

    def __init__(self, keys: Sequence[Key], commands: Sequence[Described]) -> None:
        super().__init__()
        self._keys = keys
        self._commands = commands

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        with Vertical(classes="dialog"):
            yield Static("Help", classes="title", markup=False)
            with VerticalScroll():
                yield Static(help_page(self._keys, self._commands), id="page")
            yield Static("Esc close · PgUp PgDn scroll", id="about", markup=False)

    def on_mount(self) -> None:
        """Let the scroll keys work at once."""
        self.query_one(VerticalScroll).focus()


def help_page(keys: Iterable[Key], commands: Iterable[Described]) -> Content:
    """Write all keys and commands."""
    key_rows = [
        (display_all(key), key.description + (f" ({key.when})" if key.when else "")) for key in keys
    ]
    command_rows = [(_call(command), command.help) for command in commands]
    return Content("\n").join(
        [
            Content.styled("Keys", "bold $primary"),
            *_table(key_rows),
            Content(""),
            Content.styled("Commands", "bold $primary"),
            *_table(command_rows),
            Content(""),
            Content.styled("A line that begins with // is sent with one slash.", "$text-muted"),
        ]
    )


def _call(command: Described) -> str:
    names = ", ".join(f"/{name}" for name in (command.name, *command.aliases))
    return f"{names} {command.usage}".strip()


def _table(rows: Sequence[tuple[str, str]]) -> list[Content]:
    width = min(34, max((len(left) for left, _right in rows), default=0))
    return [
        Content.assemble((left.ljust(width), "bold"), "  ", (right, "$text-muted"))
        for left, right in rows
    ]
