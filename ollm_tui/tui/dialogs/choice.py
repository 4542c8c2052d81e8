"""A dialog with a few things to choose from, some of which may say why they cannot be chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.dialogs.dialog import Dialog


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One line."""

    id: str
    title: str
    reach: str = ""
    """The key that does the same."""
    refusal: str | None = None
    """Why it cannot be chosen; foreign text."""


class Choose(Dialog[str | None]):
    """Gives the id of what was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Choose {
        & > Vertical { width: 72; height: auto; max-height: 90%; }
        OptionList, OptionList:focus { height: auto; max-height: 16; }
    }
    """

    def __init__(self, heading: str, choices: Sequence[ChoiceRow], about: str) -> None:
        super().__init__()
        self._heading = heading
        self._choices = choices
        self._about = about

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical():
            yield Static(Content(clean_line(self._heading)), classes="title")
            yield OptionList(compact=True, markup=False)
            yield Static(Content(self._about), id="about")

    def on_resize(self, _event: Resize) -> None:
        """Write the lines for the new width."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        listed = self.query_one(OptionList)
        marked = listed.highlighted
        width = max(8, listed.size.width - 2)
        listed.clear_options()
        listed.add_options(
            [
                Option(_line(one, width), id=one.id, disabled=one.refusal is not None)
                for one in self._choices
            ]
        )
        free = [place for place, one in enumerate(self._choices) if one.refusal is None]
        listed.highlighted = marked if marked in free else next(iter(free), None)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def _line(choice: ChoiceRow, width: int) -> Content:
    room = max(4, width - len(choice.reach) - 2)
    title = Content(choice.title).truncate(room, ellipsis=True, pad=True)
    line = Content.assemble(title, "  ", (choice.reach, "$text-muted"))
    if choice.refusal is None:
        return line
    return Content.assemble(line, "\n  ", (clean_line(choice.refusal), "$text-muted"))
