"""Asks for the second name of a model."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.widgets.text_field import TextField

_KEYS = "Enter copy · Esc close"


class CopyName(Dialog[str | None]):
    """Gives the name, which is neither empty nor the first one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    CopyName > Vertical { width: 64; height: auto; }
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._first_name = name

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static(Content(f"New name for {clean_name(self._first_name)}"), classes="title")
            yield TextField(placeholder="name, or name:tag", compact=True)
            yield Static(Content(_KEYS), id="about")

    @on(Input.Submitted)
    def _name_given(self, event: Input.Submitted) -> None:
        name = event.value.strip()
        if name and name != self._first_name:
            self.dismiss(name)
        else:
            words = "It already has this name." if name else "Enter a name first."
            self.query_one("#about", Static).update(Content(f"{words} {_KEYS}"))
