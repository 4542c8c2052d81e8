"""The keys of a screen that searches in its transcript."""

from typing import TYPE_CHECKING, Final

from textual import getters, on

from ollm_tui.tui.keys.keymap import Keymap
from ollm_tui.tui.transcript.navigation_keys import TranscriptKeys
from ollm_tui.tui.transcript.search.bar import SearchBar

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.search.session import TranscriptSearch

_KEYS: Final = ("find.older", "find.newer", "find.close")


class Searching(TranscriptKeys):
    """Opens one search at a time; the words of the last one are kept for the next."""

    search_bar = getters.query_one(SearchBar)

    keymap: Keymap
    finder: "TranscriptSearch | None" = None
    _searched_for = ""

    def make_search_bar(self) -> SearchBar:
        """Make the line; nobody sees it before the first search."""
        return SearchBar(self.keymap.hints_of(*_KEYS))

    @property
    def is_searching(self) -> bool:
        """Do keys go to a search?"""
        return self.finder is not None and self.finder.has_focus

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of a search to others while there is none."""
        if action in {"find_older", "find_newer"}:
            return self.is_searching
        return super().check_action(action, parameters)

    def action_find(self) -> None:
        """Open the search, or begin to write another needle."""
        self.find()

    def find(self, text: str = "") -> None:
        """Search for a text; an empty one is asked for."""
        if self.finder is None:
            # loaded with the first search: the first screen needs nothing of it
            from ollm_tui.tui.transcript.search.session import TranscriptSearch

            self.finder = TranscriptSearch(self)
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
        """Search for what is written."""
        if self.finder is not None:
            self.finder.seek(event.text)

    def action_find_close(self) -> None:
        """End the search where it is; the input has the focus again."""
        finder, self.finder = self.finder, None
        if finder is not None:
            self._searched_for = finder.text
            finder.close()
