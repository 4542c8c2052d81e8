"""Opening and closing the search of a transcript."""

from typing import TYPE_CHECKING, Literal

from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript
from ollm_tui.tui.transcript.search.bar import SearchBar

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.search.session import TranscriptSearch


class SearchControl:
    """Opens one search at a time; its text is kept for the next."""

    def __init__(self, transcript: NavigableTranscript, bar: SearchBar) -> None:
        self._transcript = transcript
        self._bar = bar
        self._last_text = ""
        self.current: TranscriptSearch | None = None
        """The open search."""

    @property
    def is_open(self) -> bool:
        """Whether there is a search, wherever the keys go."""
        return self.current is not None

    @property
    def has_focus(self) -> bool:
        """Whether keys go to the search."""
        return self.current is not None and self.current.has_focus

    def find(self, text: str = "") -> None:
        """Search for a text; an empty one is asked for."""
        if self.current is None:
            # loaded with the first search: the first screen needs nothing of it
            from ollm_tui.tui.transcript.search.session import TranscriptSearch

            self.current = TranscriptSearch(self._transcript, self._bar)
            self.current.open(text or self._last_text)
        else:
            self._bar.ask(text or None)

    def seek(self, text: str) -> None:
        """Search for what is written in the bar."""
        if self.current is not None:
            self.current.seek(text)

    def step(self, direction: Literal[-1, 1]) -> None:
        """Go to the match before or after this one."""
        if self.current is not None:
            self.current.step(direction)

    def close(self) -> None:
        """End the search where it is; the input has the focus again."""
        search, self.current = self.current, None
        if search is not None:
            self._last_text = search.text
            search.close()
