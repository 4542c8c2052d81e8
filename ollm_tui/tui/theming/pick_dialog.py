"""Choose a theme with a preview."""

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.tui.dialogs import Dialog
from ollm_tui.tui.theming.themes import ThemeCatalog, ThemeProblem, put_on

_KEYS: Final = "Enter choose · Esc close"


class ThemePicker(Dialog[str | None]):
    """Shows the marked theme; closing without a choice restores the former one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Close", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ThemePicker {
        background: transparent;
        & > Vertical { width: 44; height: auto; max-height: 90%; }
        OptionList, OptionList:focus { height: auto; max-height: 16; }
    }
    """

    def __init__(self, themes: ThemeCatalog) -> None:
        super().__init__()
        self._themes = themes
        self._former = ""

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical():
            yield Static("Choose a theme", classes="title", markup=False)
            yield OptionList(
                *(Option(Content(clean_name(name)), id=name) for name in self._themes.names()),
                compact=True,
            )
            yield Static(_KEYS, id="about", markup=False)

    def on_mount(self) -> None:
        """Mark the theme in use."""
        self._former = self.app.theme
        names = self._themes.names()
        if self._former in names:
            self.query_one(OptionList).highlighted = names.index(self._former)

    @on(OptionList.OptionHighlighted)
    def _preview(self, event: OptionList.OptionHighlighted) -> None:
        self._apply(event.option_id or self._former)

    def _apply(self, name: str) -> bool:
        about = self.query_one("#about", Static)
        try:
            theme = self._themes.load(name)
        except ThemeProblem as problem:
            about.update(Content(clean_line(str(problem))))
            return False
        put_on(self.app, theme)
        about.update(_KEYS)
        return True

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        name = event.option_id or ""
        if self._apply(name):
            self.dismiss(name)

    def action_leave(self) -> None:
        """Close and restore the former theme."""
        if self.app.theme != self._former:
            self.app.theme = self._former
        self.dismiss(None)
