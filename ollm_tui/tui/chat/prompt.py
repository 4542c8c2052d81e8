"""The composer of the chat screen, with letters that mean something while it is empty."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual import events

from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.composer.prompt_history import PromptHistory

if TYPE_CHECKING:
    from ollm_tui.commands.complete import Suggestions


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
