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
from ollm_tui.tui.widgets.search import Tally
from ollm_tui.tui.widgets.status_line import KeyHint

LONGEST: Final = 200
"""Characters of a needle."""
_NARROW: Final = 60
"""In fewer cells the keys are left out."""


def tally_line(tally: Tally) -> str:
    """Say which match is the current one, and how many there are: `3 of 17+` while looking."""
    more = "" if tally.is_done else "+"
    if tally.rank is not None:
        return f"{tally.rank:,} of {tally.total:,}{more}"
    if tally.total:
        return f"{tally.total:,}{more} found"
    return "nothing found" if tally.is_done else "looking …"


class SearchBar(Horizontal):
    """Takes the needle; what it means is up to the screen."""

    DEFAULT_CSS = """
    SearchBar {
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
        &.-narrow > #search-keys { display: none; }
        &:ansi { background: ansi_default; }
        &:ansi > Input, &:ansi > Input:focus { background: ansi_default; text-style: underline; }
    }
    """

    class Changed(Message):
        """There is another needle."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    def __init__(self, text: str, keys: Sequence[KeyHint]) -> None:
        super().__init__()
        self._text = clean_line(text)[:LONGEST]
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield Static("Find", id="search-title", markup=False)
        yield Input(self._text, max_length=LONGEST, compact=True, select_on_focus=False)
        yield Static("", id="search-tally", markup=False)
        keys = " · ".join(f"{hint.label} {hint.description}" for hint in self._keys)
        yield Static(keys, id="search-keys", markup=False)

    def on_mount(self) -> None:
        """Take keys at once; what is there is replaced by what is typed."""
        self.ask(self._text)

    def ask(self, text: str) -> None:
        """Let the needle be written anew."""
        field = self.query_one(Input)
        field.value = clean_line(text)[:LONGEST]
        field.focus()
        field.action_select_all()

    def say(self, text: str) -> None:
        """Write how the search stands."""
        self.query_one("#search-tally", Static).update(Content(text))

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what has no room."""
        self.set_class(event.size.width < _NARROW, "-narrow")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
