"""What is typed is drawn at once, before more of an answer is."""

from textual import events, on
from textual.widgets import TextArea

from ollm_tui.tui.transcript.navigation_keys import TranscriptKeys


class TypingPriority(TranscriptKeys):
    """A screen with a transcript and something to type into.

    Textual draws at the next beat of a clock, and one that is late skips a beat: in a busy moment a
    letter waited two beats, 33 ms.
    """

    _typed = False

    @on(TextArea.Changed)
    def _let_it_show(self) -> None:
        self._typed = True
        self.transcript.painting.make_way()

    def on_idle(self, _event: events.Idle) -> None:
        """Draw what was typed as soon as its widget has said that it changed."""
        if self._typed and any(isinstance(widget, TextArea) for widget in self._dirty_widgets):
            self._typed = False
            self._on_timer_update()
