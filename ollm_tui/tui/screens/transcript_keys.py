"""The keys of a screen that move about in its transcript."""

from textual import getters
from textual.screen import Screen

from ollm_tui.tui.widgets.transcript import Transcript


class TranscriptKeys(Screen[None]):
    """What the scroll keys do, whatever has the focus."""

    transcript = getters.query_one(Transcript)

    def action_toggle_thinking(self) -> None:
        """Show or fold all thinking."""
        self.transcript.toggle_thinking()

    def action_scroll_page(self, direction: int) -> None:
        """Scroll by a page."""
        self.transcript.scroll_relative(
            y=direction * max(1, self.transcript.size.height - 2), animate=False
        )

    def action_scroll_line(self, direction: int) -> None:
        """Scroll by a line."""
        self.transcript.scroll_relative(y=direction, animate=False)

    def action_scroll_edge(self, direction: int) -> None:
        """Scroll to the beginning, or to the end to follow it."""
        if direction < 0:
            self.transcript.scroll_home(animate=False)
        else:
            self.transcript.scroll_end(animate=False)
