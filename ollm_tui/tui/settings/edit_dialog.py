"""Editing one setting as text."""

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from ollm_tui.config.setting_fields import SettingField
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.tui.dialogs import Dialog
from ollm_tui.tui.widgets import TextField, from_editor, obey_own_binding, to_editor


class SettingText(TextArea):
    """Takes the keys in the order of typing: one that it binds is obeyed before the next letter."""

    async def _on_key(self, event: events.Key) -> None:
        if not event.is_printable:
            await obey_own_binding(self, event)


class EditSetting(Dialog[str | None]):
    """Returns the text that was typed, or None. A problem of the former try is shown above it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Cancel", show=False, priority=True),
        Binding("enter", "save", "Save", show=False, priority=True),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    EditSetting {
        & > Vertical { height: auto; max-height: 90%; }
        #meaning, #problem { height: auto; max-height: 4; margin-bottom: 1; }
        #problem { color: $text-error; display: none; }
        #problem.-shown { display: block; }
        TextArea, TextArea:focus {
            border: none; height: auto; min-height: 1; max-height: 8; padding: 0 1;
            background: $panel;
        }
        &.-low #meaning, &.-low #problem { margin-bottom: 0; max-height: 2; }
    }
    """

    def __init__(self, field: SettingField, draft: str, problem: str = "") -> None:
        super().__init__()
        self._field = field
        self._draft = draft
        self._problem = problem

    def compose(self) -> ComposeResult:
        """Lay out what it means, the input and its keys."""
        with Vertical():
            yield Static(Content(clean_name(self._field.key)), classes="title")
            yield Static(Content(clean_line(self._field.description)), id="meaning")
            yield Static(Content(clean_line(self._problem)), id="problem")
            if self._field.is_secret and self._field.kind == "text":
                yield TextField(password=True, compact=True)
            else:
                yield SettingText(to_editor(self._draft), compact=True, show_line_numbers=False)
            yield Static(Content(self._keys()), id="about")

    def _keys(self) -> str:
        form = {"list": "One item a line. ", "table": "A table, as JSON. "}
        secret = "What is stored now is not shown. " if self._field.is_secret else ""
        newline = "" if self._field.is_secret else " · Ctrl+J new line"
        return f"{form.get(self._field.kind, '')}{secret}Enter save{newline} · Esc cancel"

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        self.query_one("#problem").set_class(bool(self._problem), "-shown")
        for area in self.query(TextArea):
            area.cursor_blink = area.cursor_blink and self.app.animation_level != "none"
            area.move_cursor(area.document.end)

    def action_newline(self) -> None:
        """Begin a new line."""
        for area in self.query(TextArea):
            area.insert("\n")

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Return the text."""
        texts = [from_editor(area.text) for area in self.query(TextArea)]
        texts += [field.value for field in self.query(Input)]
        self.dismiss(texts[0])


class NameEntry(Dialog[str | None]):
    """Returns the name of a new entry of a table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Cancel", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    NameEntry > Vertical { height: auto; }
    """

    def __init__(self, table: str, description: str) -> None:
        super().__init__()
        self._table = table
        self._description = description

    def compose(self) -> ComposeResult:
        """Lay out the input."""
        with Vertical():
            yield Static(Content(f"Add an entry to {self._table}"), classes="title")
            yield TextField(placeholder="Name", max_length=200, compact=True)
            yield Static(Content(f"{self._description} Enter add · Esc cancel"), id="about")

    @on(Input.Submitted)
    def _add(self, event: Input.Submitted) -> None:
        if name := event.value.strip():
            self.dismiss(name)
