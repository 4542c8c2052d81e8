"""What the chat screen is made of, and what it does without a runtime: move, fold, scroll, copy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from textual import events
from textual.selection import Selection

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.chat.status_bar import StatusBar
from ollm_tui.tui.composer import Composer, PromptHistory
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import Copying
from ollm_tui.tui.transcript import NavigableTranscript, SearchControl, Typed
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine

if TYPE_CHECKING:
    from ollm_tui.commands.parse import Suggestions

_LONGEST_PROMPT: Final = 200
"""Characters of a waiting prompt that are looked at; no line shows as many."""


class Prompt(Composer):
    """Runs an action of the screen for a letter that is typed first, if that has a meaning now.

    A binding would not do: it is looked up before the letters typed ahead of it have arrived.
    """

    def __init__(
        self,
        *,
        placeholder: str,
        suggest: "Callable[[str], Suggestions | None]",
        letters: Mapping[str, str],
        history: PromptHistory | None = None,
        take_waiting: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(placeholder=placeholder, suggest=suggest, history=history)
        self._letters = letters
        self._take_waiting = take_waiting

    def action_cursor_up(self, select: bool = False) -> None:
        """In an empty input take what was queued last, to edit it; else go up."""
        if not (self.text or select or self.has_menu):
            waiting = self._take_waiting()
            if waiting is not None:
                self.prepend(waiting)
                return
        super().action_cursor_up(select)

    async def _on_key(self, event: events.Key) -> None:
        action = self._letters.get(event.key)
        if action is None or self.text or self.just_pasted:
            return
        if self.screen.check_action(action, ()):
            event.stop()
            event.prevent_default()
            await self.screen.run_action(action)


class KeyHints:
    """Names the keys that matter: the transcript's while it has them, else those of a state."""

    def __init__(self, bar: StatusBar, keymap: Keymap) -> None:
        self._bar = bar
        self._keymap = keymap
        self._state = "ready"
        self._mode: str | None = None

    def show(self, state: str) -> None:
        """Name the keys of a state of the chat."""
        self._state = state
        self._bar.show_keys(self._keymap.hints(state, over=self._mode))

    def show_mode(self, mode: str | None) -> None:
        """Name the keys of the transcript; None when it has lost them."""
        self._mode = mode
        self.show(self._state)


class Navigation:
    """Moves the focus between transcript and input, scrolls, folds and copies."""

    def __init__(
        self,
        transcript: NavigableTranscript,
        composer: Prompt,
        hints: HintLine,
        keymap: Keymap,
        copying: Copying,
    ) -> None:
        self._transcript = transcript
        self._composer = composer
        self._hints = hints
        self._copying = copying
        self._numbers = count(1)
        self._yielded = {mode: keymap.yielded_to(mode) for mode in ("cursor", "caret")}

    def yields(self, action: str) -> bool:
        """Whether the key of a screen's action means something else in the transcript now."""
        view, mode = self._transcript, self._transcript.mode
        return mode is not None and view.screen.focused is view and action in self._yielded[mode]

    def go_through(self, direction: int) -> None:
        """Put the cursor on the newest message, or move it."""
        if self._transcript.cursor_mode.go_through(direction):
            self._transcript.screen.set_focus(self._transcript)
        else:
            self._hints.flash("No messages yet", FLASH_S)

    def type_on(self, event: Typed | None) -> None:
        """Go on in the input, with what was typed."""
        self._composer.screen.set_focus(self._composer)
        if event is not None:
            self._composer.post_message(event)

    def leave(self) -> bool:
        """Return from the messages to the input, or return False if it has the keys already."""
        is_on = self._transcript.mode is not None
        if is_on:
            self._transcript.cursor_mode.action_leave()
        return is_on

    def fold(self, what: Literal["thinking", "tools"]) -> None:
        """Show or fold all thinking, or the output of all tools."""
        if what == "thinking":
            self._transcript.folding.toggle_thinking()
            is_shown = self._transcript.folding.show_thinking
            shown = "is shown" if is_shown else "folds when the answer starts"
            self._hints.flash(f"Thinking {shown}", FLASH_S)
        elif not self._transcript.folding.toggle_tools():
            self._hints.flash("No tool calls yet", FLASH_S)

    def scroll_lines(self, lines: int) -> None:
        """Scroll by rows."""
        self._transcript.scroll_relative(y=lines, animate=False)

    def scroll_page(self, direction: int) -> None:
        """Scroll by a page, with two rows of it kept."""
        self.scroll_lines(direction * max(1, self._transcript.size.height - 2))

    def scroll_edge(self, direction: int) -> None:
        """Scroll to the top, or to the end to follow it."""
        if direction < 0:
            self._transcript.scroll_home(animate=False)
        else:
            self._transcript.scroll_end(animate=False)

    # Copying

    def copy_rows(self, selection: Selection) -> None:
        """Copy what is selected in the transcript."""
        self._copying.rows(self._transcript.selection.rows(selection))

    def copy_selected(self) -> bool:
        """Copy the selection of the transcript or the input; False if nothing is selected."""
        selection, screen = self._transcript.text_selection, self._transcript.screen
        if selection is not None and self._transcript.selection.has_text():
            self.copy_rows(selection)
        elif selection is None and (
            text := screen.get_selected_text() or self._composer.selected_value
        ):
            self._copying.text(text)
        else:
            return False
        screen.clear_selection()
        if self._transcript.mode == "caret":
            self._transcript.caret_mode.action_leave()
        return True

    def note_copy(self, text: str, *, is_error: bool = False) -> None:
        """Write into the transcript where a copy was saved."""
        kind: Literal["error", "info"] = "error" if is_error else "info"
        self._transcript.add_note(f"copy-{next(self._numbers)}", text, kind)


@dataclass(frozen=True, slots=True)
class ChatParts:
    """The parts of a chat screen, for the controller to build on."""

    header: ChatHeader
    transcript: NavigableTranscript
    hints: HintLine
    composer: Prompt
    bar: StatusBar
    key_hints: KeyHints
    keymap: Keymap
    search: SearchControl
    copying: Copying
    dialogs: Dialogs
    services: Services


def queue_line(
    waiting: Sequence[str], key_for: Callable[[str], str], *, is_held: bool = False
) -> str:
    """Say how many prompts wait, how to get them back, and how they begin.

    `key_for` names the key of an action. `is_held` means that the prompt before them ended in an
    error, so that they are not sent by themselves.
    """
    if not waiting:
        return ""
    them = "it" if len(waiting) == 1 else "them"
    beginnings = " · ".join(clean_line(text[:_LONGEST_PROMPT].strip()) for text in waiting)
    held = " after the error" if is_held else ""
    last = "it" if len(waiting) == 1 else "the last"
    up = f"{key_for('composer.history_previous')} edits {last}"
    returns = f"{key_for('chat.stop')} returns {them} to the editor"
    return f"{len(waiting)} queued{held} · {up} · {returns}: {beginnings}"
