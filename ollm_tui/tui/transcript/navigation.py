"""What a screen does for its transcript: scrolling, going through messages, copying, searching."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import getters, on
from textual.geometry import Offset
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from ollm_tui.tui.chat.hint_line import HintLine
from ollm_tui.tui.chat.prompt import Prompt
from ollm_tui.tui.chat.status_bar import StatusBar
from ollm_tui.tui.dialogs.copying import Copying
from ollm_tui.tui.keys.table import Keymap
from ollm_tui.tui.transcript.message_cursor import Typed
from ollm_tui.tui.transcript.messages import (
    CopyRequested,
    CursorMoved,
    KeyRefused,
    SelectionCopyRequested,
)
from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript
from ollm_tui.tui.transcript.search.bar import SearchBar
from ollm_tui.tui.transcript.transcript import Transcript
from ollm_tui.tui.widgets.chrome import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.search.session import TranscriptSearch

_KEYS: Final = ("find.older", "find.newer", "find.close")


class TranscriptKeys(Screen[None]):
    """The scroll keys, which work whatever has the focus."""

    hints = getters.query_one(HintLine)
    transcript = getters.query_one(NavigableTranscript)

    def action_toggle_thinking(self) -> None:
        """Show or fold all thinking."""
        self.transcript.folding.toggle_thinking()
        shown = (
            "is shown" if self.transcript.folding.show_thinking else "folds when the answer starts"
        )
        self.hints.flash(f"Thinking {shown}", FLASH_S)

    def action_toggle_tools(self) -> None:
        """Show the output of all tools, or fold it."""
        if not self.transcript.folding.toggle_tools():
            self.hints.flash("No tool calls yet", FLASH_S)

    def action_scroll_page(self, direction: int) -> None:
        """Scroll by a page."""
        self.transcript.scroll_relative(
            y=direction * max(1, self.transcript.size.height - 2), animate=False
        )

    def action_scroll_line(self, direction: int) -> None:
        """Scroll by a line."""
        self.transcript.scroll_relative(y=direction, animate=False)

    def action_scroll_edge(self, direction: int) -> None:
        """Scroll to the top, or to the end to follow it."""
        if direction < 0:
            self.transcript.scroll_home(animate=False)
        else:
            self.transcript.scroll_end(animate=False)


class TranscriptNavigation(TranscriptKeys):
    """Gives the focus to the transcript and back, copies, and names the keys that matter."""

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

    def make_transcript(
        self, *, edit: Callable[[str], bool], streams_thinking: bool
    ) -> NavigableTranscript:
        """Make the transcript; `edit` puts one of its prompts into the input."""
        return NavigableTranscript(
            keys={mode: self.keymap.actions(mode) for mode in ("cursor", "caret")},
            leave=self._type_on,
            edit=edit,
            streams_thinking=streams_thinking,
        )

    def yields(self, action: str) -> bool:
        """Whether the key of an action of this screen has another meaning now."""
        mode = self.transcript.mode if self.focused is self.transcript else None
        return mode is not None and action in self._yielded[mode]

    def show_keys(self, state: str) -> None:
        """Show the keys that matter: the transcript's while it has them, else those of a state."""
        self._turn = state
        self.status.show_keys(self.keymap.hints(state, over=self._hints))

    def action_go_through(self, direction: int) -> None:
        """Put the cursor on the newest message, or move it."""
        if self.transcript.cursor_mode.go_through(direction):
            self.set_focus(self.transcript)
        else:
            self.hints.flash("No messages yet", FLASH_S)

    def _type_on(self, event: Typed | None) -> None:
        """Continue in the input, with what was typed."""
        self.set_focus(self.composer)
        if event is not None:
            self.composer.post_message(event)

    @on(CursorMoved)
    def _name_keys(self, event: CursorMoved) -> None:
        self._hints = event.hints
        self.show_keys(self._turn)

    @on(CopyRequested)
    def _copy_wanted(self, event: CopyRequested) -> None:
        self.copy(event.text)

    @on(SelectionCopyRequested)
    def _copy_selection(self, event: SelectionCopyRequested) -> None:
        self._copying.rows(self.transcript.selection.rows(event.selection))

    @on(KeyRefused)
    def _say_why(self, event: KeyRefused) -> None:
        self.hints.flash(event.reason, FLASH_S)

    def copy(self, text: str) -> None:
        """Hand a text to the terminal, which may or may not put it on the clipboard."""
        self._copying.text(text)

    def copy_selected(self) -> bool:
        """Copy what is selected, here or in the input; False when nothing is."""
        selection = self.transcript.text_selection
        if selection is not None and self.transcript.selection.has_text():
            self._copying.rows(self.transcript.selection.rows(selection))
        elif selection is None and (text := self._selected_elsewhere()):
            self.copy(text)
        else:
            return False
        self.clear_selection()
        if self.transcript.mode == "caret":
            self.transcript.caret_mode.action_leave()
        return True

    def leave_messages(self) -> bool:
        """Go back from the messages to the input; False when that has the keys."""
        is_on = self.transcript.mode is not None
        if is_on:
            self.transcript.cursor_mode.action_leave()
        return is_on

    def _selected_elsewhere(self) -> str | None:
        return self.get_selected_text() or self.composer.selected_value

    def action_copy_text(self) -> None:
        """Copy as Textual's own key for it would, without holding up the screen."""
        self.copy_selected()

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy is, in a note that stays."""
        self.transcript.add_note(
            f"copy-{next(self._numbers)}", words, "error" if is_error else "info"
        )


class TranscriptSelection(Screen[ScreenResultType]):
    """Finds positions under the mouse from the rows; offsets in strips would cost every frame."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """The widget at a cell, and the position in its text."""
        view, region = self._view_at(x, y)
        if view is None:
            return super().get_widget_and_offset_at(x, y)
        return view, view.selection.position_at(x - region.x, y - region.y)

    def _view_at(self, x: int, y: int) -> tuple[Transcript | None, Offset]:
        for view in self.query(Transcript):
            region = view.scrollable_content_region
            if view.is_on_screen and region.contains(x, y):
                return view, region.offset
        return None, Offset()


class Searching(TranscriptKeys):
    """Opens one search at a time; the text of the last one is kept for the next."""

    search_bar = getters.query_one(SearchBar)

    keymap: Keymap
    finder: "TranscriptSearch | None" = None
    _searched_for = ""

    def make_search_bar(self) -> SearchBar:
        """Make the line, which is hidden until the first search."""
        return SearchBar(self.keymap.hints_of(*_KEYS))

    @property
    def is_searching(self) -> bool:
        """Whether keys go to a search."""
        return self.finder is not None and self.finder.has_focus

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give up the keys of a search while there is none."""
        if action in {"find_older", "find_newer"}:
            return self.is_searching
        return super().check_action(action, parameters)

    def action_find(self) -> None:
        """Open the search, or select its text for another one."""
        self.find()

    def find(self, text: str = "") -> None:
        """Search for a text; an empty one lets the user type it."""
        if self.finder is None:
            # loaded with the first search: the first screen needs nothing of it
            from ollm_tui.tui.transcript.search.session import TranscriptSearch

            self.finder = TranscriptSearch(self.transcript, self.search_bar)
            self.finder.open(text or self._searched_for)
        else:
            self.finder.ask(text)

    def action_find_older(self) -> None:
        """Go to the match before this one."""
        if self.finder is not None:
            self.finder.step(-1)

    def action_find_newer(self) -> None:
        """Go to the match after this one."""
        if self.finder is not None:
            self.finder.step(1)

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        """Search for the text in the field."""
        if self.finder is not None:
            self.finder.seek(event.text)

    def action_find_close(self) -> None:
        """End the search where it is; the input has the focus again."""
        finder, self.finder = self.finder, None
        if finder is not None:
            self._searched_for = finder.text
            finder.close()
