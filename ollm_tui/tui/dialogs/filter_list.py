"""A dialog with a list and a filter."""

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.widgets import TextField

MAX_FILTER_LENGTH: Final = 200
"""Each letter matches every row again; no name is as long."""


class FilterList(Dialog[ScreenResultType]):
    """Typing goes to the filter; keys that move or choose act on the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", "Next", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", "Previous", show=False, priority=True),
        Binding("pagedown", "move(10)", "Page down", show=False, priority=True),
        Binding("pageup", "move(-10)", "Page up", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    FilterList {
        & > Vertical { height: 26; max-height: 90%; }
        &.-low > Vertical { max-height: 100%; }
    }
    """
    HEADING = ""
    PLACEHOLDER = "Type to filter"

    def compose(self) -> ComposeResult:
        """Lay out the filter, the list and the line about it."""
        with Vertical():
            yield Static(self.HEADING, classes="title", markup=False)
            yield TextField(
                placeholder=self.PLACEHOLDER, max_length=MAX_FILTER_LENGTH, compact=True
            )
            yield OptionList(compact=True, markup=False)
            yield Static("", id="about", markup=False)

    def show_rows(self, mark: str | None = None) -> None:
        """Fill the list and mark a row by its id."""
        raise NotImplementedError

    @on(Input.Changed)
    def _narrow(self) -> None:
        self.show_rows()

    def on_resize(self) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(lambda: self.show_rows(self.marked))

    @property
    def query_text(self) -> str:
        """The text of the filter."""
        return self.query_one(Input).value if self.has_its_parts else ""

    @property
    def row_width(self) -> int:
        """The width of a row, in cells."""
        width = self.query_one(OptionList).size.width if self.has_its_parts else 0
        return max(8, width - 2)

    def fill(self, options: list[Option], *, mark: str | None = None) -> None:
        """Show these rows and mark one by its id, or the first that can be chosen."""
        if self.has_its_parts:
            fill_list(self.query_one(OptionList), options, mark)

    @property
    def marked(self) -> str | None:
        """The id of the marked row."""
        option = self.query_one(OptionList).highlighted_option if self.has_its_parts else None
        return option.id if option else None

    def say(self, text: str) -> None:
        """Write the line below the list."""
        if self.has_its_parts:
            self.query_one("#about", Static).update(Content(text))

    def action_move(self, steps: int) -> None:
        """Move the mark, past headings."""
        move_highlight(self.query_one(OptionList), steps)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.choose_marked()

    def choose_marked(self) -> None:
        """Choose the marked row."""
        self.query_one(OptionList).action_select()


def fill_list(listed: OptionList, options: Sequence[Option], mark: str | None) -> None:
    """Show these options, one for each id, and highlight one by its id, or the first enabled one.

    A server may list a model twice, and a chat that is saved meanwhile moves to another page.
    """
    first = {option.id: option for option in reversed(options)}
    options = [one for one in options if one.id is None or first[one.id] is one]
    with listed.app.batch_update():
        listed.clear_options()
        listed.add_options(options)
        enabled = [index for index, option in enumerate(options) if not option.disabled]
        wanted = [index for index in enabled if options[index].id == mark]
        if enabled:
            listed.highlighted = (wanted or enabled)[0]
        if enabled and not wanted:
            # show the heading above the first row
            listed.scroll_home(animate=False)


def move_highlight(listed: OptionList, steps: int) -> None:
    """Move the highlight by rows, past disabled ones."""
    move = listed.action_cursor_down if steps > 0 else listed.action_cursor_up
    for _step in range(abs(steps)):
        move()
