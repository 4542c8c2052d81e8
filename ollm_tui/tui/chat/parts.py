"""What the chat screen is made of, and what it does without a runtime."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from textual import events
from textual.selection import Selection

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.prompt_history import PromptHistory
from ollm_tui.tui.chat.status.status_bar import StatusBar
from ollm_tui.tui.composer import Composer
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import NavigableTranscript, SearchControl
from ollm_tui.tui.widgets import ChatHeader, HintLine

if TYPE_CHECKING:
    from ollm_tui.commands.parse import Suggestions

_MAX_PROMPT_LENGTH: Final = 200
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


@dataclass(slots=True)
class KeyHints:
    """Names the keys that matter: the transcript's while it has them, else those of a state."""

    bar: StatusBar
    keymap: Keymap
    _state: str = "ready"
    _mode: str | None = None

    def show(self, state: str) -> None:
        """Name the keys of a state of the chat."""
        self._state = state
        self.bar.show_keys(self.keymap.hints(state, over=self._mode))

    def redraw(self) -> None:
        """Name the keys anew after they have changed."""
        self.show(self._state)

    def show_mode(self, mode: str | None) -> None:
        """Name the keys of the transcript; None when it has lost them."""
        self._mode = mode
        self.show(self._state)


@dataclass(frozen=True, slots=True)
class SelectionCopier:
    """Copies what is selected in the transcript or the input."""

    transcript: NavigableTranscript
    composer: Prompt
    copying: ClipboardCopier

    def copy_rows(self, selection: Selection) -> None:
        """Copy what is selected in the transcript."""
        self.copying.rows(self.transcript.selection.rows(selection))

    def copy_selected(self) -> bool:
        """Copy the selection of the transcript or the input; False if nothing is selected."""
        selection, screen = self.transcript.text_selection, self.transcript.screen
        if selection is not None and self.transcript.selection.has_text():
            self.copy_rows(selection)
        elif selection is None and (
            text := screen.get_selected_text() or self.composer.selected_value
        ):
            self.copying.text(text)
        else:
            return False
        screen.clear_selection()
        if self.transcript.mode == "caret":
            self.transcript.caret_mode.action_leave()
        return True


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
    copying: ClipboardCopier
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
    beginnings = " · ".join(clean_line(text[:_MAX_PROMPT_LENGTH].strip()) for text in waiting)
    held = " after the error" if is_held else ""
    last = "it" if len(waiting) == 1 else "the last"
    up = f"{key_for('composer.history_previous')} edits {last}"
    returns = f"{key_for('chat.stop')} returns {them} to the editor"
    return f"{len(waiting)} queued{held} · {up} · {returns}: {beginnings}"
