"""Ask before a model is copied or deleted."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.tui.dialogs import Dialog, Passage, YesNoDialog
from ollm_tui.tui.widgets import TextField

_KEYS = "Enter copy · Esc close"


class CopyName(Dialog[str | None]):
    """Returns the name of the copy: not empty, and not the model's own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False, priority=True)
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


class DeleteModel(YesNoDialog):
    """Returns whether to delete a model."""

    def __init__(
        self,
        info: ModelInfo,
        place: str,
        *,
        is_own: bool,
        is_loaded: bool,
        other_names: Sequence[str] = (),
    ) -> None:
        """Ask about a model at `place`; `is_own` is whether the open chat uses it.

        The same model stays on the server under `other_names`.
        """
        size_bytes = info.size_bytes
        amount = size_text(size_bytes) if size_bytes and size_bytes > 0 else "size unknown"
        notes = [
            "The open chat uses it and will have no model." if is_own else "",
            "It is loaded now." if is_loaded else "",
            _consequence(other_names),
        ]
        super().__init__(
            "Delete this model permanently?",
            "\n".join(note for note in notes if note),
            Passage(f"{amount} · {clean_name(place)}", info.name),
            yes="delete",
            no="or Esc keep it",
        )


def _consequence(other_names: Sequence[str]) -> str:
    if not other_names:
        return "To get it back, download it again."
    more = len(other_names) - 1
    others = f" and under {counted(more, 'other name')}" if more else ""
    return (
        f"Only this name is deleted: the same model stays as {clean_name(other_names[0])}{others}."
    )
