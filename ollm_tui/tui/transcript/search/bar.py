"""One line for a search: the needle, how many matches there are, and the keys."""

from collections.abc import Sequence
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.keys import KeyHint
from ollm_tui.tui.widgets import TextField

MAX_LENGTH: Final = 200
"""Characters of a needle."""
_NARROW: Final = 60  # in fewer cells the keys are not shown


class SearchBar(Horizontal):
    """Takes the text to search for; the screen does the searching.

    It is there from the start and hidden: so it can have the focus at once, and no key that comes
    with the one that opens it goes anywhere else.
    """

    DEFAULT_CSS = """
    SearchBar {
        display: none;
        height: 1;
        padding: 0 3;
        background: $background;
        & > Static { width: auto; color: $text-muted; }
        & > #search-title { color: $text-primary; text-style: bold; }
        & > #search-keys { margin-left: 3; }
        & > Input, & > Input:focus {
            width: 1fr;
            height: 1;
            border: none;
            padding: 0 1;
            margin: 0 2 0 1;
            background: $panel;
        }
        &.-open { display: block; }
        &.-narrow > #search-keys { display: none; }
        &:ansi { background: ansi_default; }
        &:ansi > Input, &:ansi > Input:focus { background: ansi_default; text-style: underline; }
    }
    """

    class Changed(Message):
        """The text has changed."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Sought(Message):
        """Enter was pressed, on a screen that does not bind it."""

    def __init__(self, keys: Sequence[KeyHint]) -> None:
        super().__init__()
        self._keys = keys
        self._field = TextField(max_length=MAX_LENGTH, compact=True, select_on_focus=False)
        self._tally = Static("", id="search-tally", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield Static("Find", id="search-title", markup=False)
        yield self._field
        yield self._tally
        keys = " · ".join(f"{hint.label} {hint.description}" for hint in self._keys)
        yield Static(keys, id="search-keys", markup=False)

    @property
    def text(self) -> str:
        """The text in the field."""
        return self._field.value

    def ask(self, text: str | None = None) -> None:
        """Take keys at once; the current text, or the one given, is selected for replacement."""
        self.add_class("-open")
        if text is not None:
            self._field.value = clean_line(text)[:MAX_LENGTH]
        self.screen.set_focus(self._field)
        self._field.action_select_all()

    def hide(self) -> None:
        """Hide the line; the focus must be elsewhere by now."""
        self.remove_class("-open")
        self.say("")

    def say(self, text: str) -> None:
        """Show the state of the search."""
        self._tally.update(Content(text))

    def on_resize(self, event: events.Resize) -> None:
        """Hide the keys on a narrow screen."""
        self.set_class(event.size.width < _NARROW, "-narrow")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Sought())
