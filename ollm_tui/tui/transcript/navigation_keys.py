"""The keys of a screen that move about in its transcript."""

from textual import getters
from textual.screen import Screen

from ollm_tui.tui.chat.hint_line import HintLine
from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript

FLASH_S = 2.5
"""How long a word about the last key stays."""


class TranscriptKeys(Screen[None]):
    """What the scroll keys do, whatever has the focus."""

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
        """Show what all tools gave, or fold it."""
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
