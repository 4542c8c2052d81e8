"""The draft in the user's own editor."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.text_editor import Edited, Run, TextEditor
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.dialogs import Dialogs

if TYPE_CHECKING:
    from ollm_tui.tui.services import Say


@dataclass(slots=True)
class ExternalEditor:
    """Opens one editor at a time; the app is as it was however the editor ends."""

    composer: Composer
    dialogs: Dialogs
    say: "Say"
    run: Run
    can_run: Callable[[], bool]
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _editor: TextEditor = field(init=False)

    def __post_init__(self) -> None:
        self._editor = TextEditor(self.say, self.run, self.can_run, self.environ)

    def edit_draft(self, text: str = "") -> None:
        """Edit the draft, or start with a text if there is none."""
        self.dialogs.run(self._edit_draft(text), "editor")

    async def _edit_draft(self, start: str) -> None:
        draft = self.composer.draft
        before = self.composer.value or start
        edited = await self.edited(before)
        if edited is None:
            return
        if edited.text is None:
            self.composer.focus()
        elif edited.problem:
            self.composer.remember(edited.text)
        else:
            self.composer.load_edited(edited.text, draft)
        if edited.problem:
            self.say(edited.problem, "warning", "Up brings back what it saved.")

    async def edited(self, text: str) -> Edited | None:
        """Open the editor with a text and return what it left; None, and a note, if it cannot."""
        return await self._editor.edited(text)
