"""The composer with its list of suggestions."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.widget import Widget

from ollm_tui.commands.complete import Suggestions
from ollm_tui.tui.widgets.completions import Completions
from ollm_tui.tui.widgets.composer import Composer
from ollm_tui.tui.widgets.prompt_history import PromptHistory


class PromptArea(Widget):
    """What stands at the foot of a chat; `Composer.Submitted` bubbles out of it."""

    DEFAULT_CSS = """
    PromptArea { height: auto; layout: vertical; }
    """

    def __init__(
        self,
        *,
        placeholder: str = "Ask anything. / commands",
        history: PromptHistory | None = None,
        suggest: Callable[[str], Suggestions | None] = lambda _text: None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._completions = Completions()
        self.composer = Composer(placeholder=placeholder, history=history, suggest=suggest)

    def compose(self) -> ComposeResult:
        """The list comes first: it opens upwards from the composer's upper edge."""
        yield self._completions
        yield self.composer

    def on_composer_menu_changed(self, message: Composer.MenuChanged) -> None:
        """Show what the composer suggests."""
        message.stop()
        self._completions.show(message.menu)

    def on_completions_chosen(self, message: Completions.Chosen) -> None:
        """Let the composer take what was clicked."""
        message.stop()
        self.composer.take(message.index)
        self.composer.focus()
