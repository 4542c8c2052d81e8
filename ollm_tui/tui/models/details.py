"""The details of one model: facts, abilities, effective settings and texts."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult

from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.model_sections import section_number, sections_of
from ollm_tui.tui.keys import MODEL_COMMANDS, KeyHint, Keymap
from ollm_tui.tui.models.sheet import Sheet
from ollm_tui.tui.models.sheet_screen import SheetScreen
from ollm_tui.tui.transcript import SearchBar
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine, KeyLine

if TYPE_CHECKING:
    from ollm_tui.models.actions import ModelAction
    from ollm_tui.runtime.details import ModelDetails

DetailsAnswer: TypeAlias = 'ModelAction | Literal["chat"] | None'
"""The action to run on the model, or None."""


class ModelDetailsScreen(SheetScreen["DetailsAnswer"]):
    """Returns the action to run on the model; the opener asks first and runs it."""

    def __init__(
        self,
        details: "ModelDetails",
        *,
        refusals: "Mapping[ModelAction, str | None] | None" = None,
        section: str | None = None,
        keymap: Keymap | None = None,
        copies: Path | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Show `details`, the section of this id first.

        `refusals` has for each action why it is unavailable, or None; without it none is offered.
        `copies` is the folder for copies that are too large for a clipboard.
        """
        sections = sections_of(details, now() if now else datetime.now(UTC))
        super().__init__(sections, keymap=keymap, copies=copies)
        self.details = details
        self.provider_name = details.ref.provider
        self._refusals = refusals
        self._first = section_number(sections, section) or 0

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Model details", self.details.ref.model, self.provider_name)
        yield Sheet(self._sections, first=self._first)
        yield HintLine()
        yield SearchBar([KeyHint("Enter", "next"), KeyHint("Esc", "close")])
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the sheet and show its keys."""
        super().on_mount()
        self._name_keys()

    def has(self, section: str) -> bool:
        """Return whether there is a section with this id."""
        return section_number(self._sections, section) is not None

    def action_leave(self, answer: 'ModelAction | Literal["chat"]') -> None:
        """Close with an action, or show why it is unavailable."""
        refusal = None
        if answer != "chat":
            refusals = self._refusals
            refusal = "Not available here." if refusals is None else refusals.get(answer)
        if refusal is None:
            self.dismiss(answer)
        else:
            self.hints.flash(clean_line(refusal), FLASH_S)

    @on(Sheet.Moved)
    def _name_keys(self) -> None:
        able = [
            one.details_key.id
            for one in MODEL_COMMANDS.values()
            if one.entry.details_name and one.entry.is_in_details_line
            if self._refusals is not None and self._refusals.get(one.action) is None
        ]
        ids = ("details.back", "details.next", "details.copy", "details.find", "details.chat")
        self.query_one(KeyLine).show(self.keymap.hints_of(*ids, *able))
