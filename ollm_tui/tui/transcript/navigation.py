"""Going through the chat by keys: what the screen does for its transcript."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

from textual import getters, on

from ollm_tui.tui.chat.prompt import Prompt
from ollm_tui.tui.chat.status_bar import StatusBar
from ollm_tui.tui.dialogs.copying import Copying
from ollm_tui.tui.keys.keymap import Keymap
from ollm_tui.tui.transcript.navigation_keys import FLASH_S, TranscriptKeys
from ollm_tui.tui.transcript.reader import NavigableTranscript, Typed
from ollm_tui.tui.transcript.reader_messages import (
    CopyWanted,
    Moved,
    Refused,
    SelectionCopyWanted,
)


class TranscriptNavigation(TranscriptKeys):
    """Gives the focus to the transcript and back, copies, and names the keys that count."""

    composer = getters.query_one(Prompt)
    status = getters.query_one(StatusBar)

    def __init__(self, keymap: Keymap, copies: Path | None) -> None:
        """Make a screen; `copies` is the folder for what is too large for a clipboard."""
        super().__init__()
        self._copying = Copying(self, copies)
        self._numbers = count(1)
        self.keymap = keymap
        self._turn = "ready"
        self._hints: str | None = None
        self._yielded = {mode: keymap.yielded_to(mode) for mode in ("cursor", "caret")}

    def make_reader(
        self, *, edit: Callable[[str], bool], streams_thinking: bool
    ) -> NavigableTranscript:
        """Make the transcript; `edit` puts one of its questions into the input."""
        return NavigableTranscript(
            keys={mode: self.keymap.actions(mode) for mode in ("cursor", "caret")},
            leave=self._type_on,
            edit=edit,
            streams_thinking=streams_thinking,
        )

    def yields(self, action: str) -> bool:
        """Whether the key of an action of this screen means something else now."""
        mode = self.transcript.mode if self.focused is self.transcript else None
        return mode is not None and action in self._yielded[mode]

    def show_keys(self, state: str) -> None:
        """Show the keys that matter: the transcript's while it has them, else those of a state."""
        self._turn = state
        self.status.show_keys(self.keymap.hints(state, over=self._hints))

    def action_go_through(self, direction: int) -> None:
        """Put the cursor on the newest message, or move it."""
        if self.transcript.go_through(direction):
            self.set_focus(self.transcript)
        else:
            self.hints.flash("No messages yet", FLASH_S)

    def _type_on(self, event: Typed | None) -> None:
        """Go on in the input, with what was typed."""
        self.set_focus(self.composer)
        if event is not None:
            self.composer.post_message(event)

    @on(Moved)
    def _name_keys(self, event: Moved) -> None:
        self._hints = event.hints
        self.show_keys(self._turn)

    @on(CopyWanted)
    def _copy_wanted(self, event: CopyWanted) -> None:
        self.copy(event.text)

    @on(SelectionCopyWanted)
    def _copy_selection(self, event: SelectionCopyWanted) -> None:
        self._copying.rows(self.transcript.selected_rows(event.selection))

    @on(Refused)
    def _say_why(self, event: Refused) -> None:
        self.hints.flash(event.why, FLASH_S)

    def copy(self, text: str) -> None:
        """Hand a text to the terminal, which may or may not put it on the clipboard."""
        self._copying.text(text)

    def copy_selected(self) -> bool:
        """Copy what is selected, here or in the input; False when nothing is."""
        selection = self.transcript.text_selection
        if selection is not None and self.transcript.has_selected_text():
            self._copying.rows(self.transcript.selected_rows(selection))
        elif selection is None and (text := self._selected_elsewhere()):
            self.copy(text)
        else:
            return False
        self.clear_selection()
        if self.transcript.mode == "caret":
            self.transcript.action_caret_leave()
        return True

    def leave_messages(self) -> bool:
        """Go back from the messages to the input; False when that has the keys."""
        is_on = self.transcript.mode is not None
        if is_on:
            self.transcript.action_cursor_leave()
        return is_on

    def _selected_elsewhere(self) -> str | None:
        return self.get_selected_text() or self.composer.selected_value

    def action_copy_text(self) -> None:
        """Copy as Textual's own key for it would, without holding up the screen."""
        self.copy_selected()

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy is, so that it stays to be read."""
        self.transcript.add_note(
            f"copy-{next(self._numbers)}", words, "error" if is_error else "info"
        )
