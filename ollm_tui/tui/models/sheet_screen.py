"""A screen with a sheet of sections: scrolled, searched, and copied section by section."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import getters, on, work
from textual.binding import BindingType
from textual.screen import ScreenResultType

from ollm_tui.frontend.model_sections import SheetSection
from ollm_tui.tui.dialogs import LeftOnce
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.models.sheet import Sheet
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import SearchBar
from ollm_tui.tui.widgets import FLASH_S, HintLine


class SheetScreen(LeftOnce[ScreenResultType]):
    """The keys of a sheet; a subclass lays out the screen and names them."""

    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("details")]
    DEFAULT_CSS = """
    SheetScreen {
        & > Sheet { height: 1fr; margin: 1 2 1 2; }
        &.-low > Sheet { margin: 0 2; }
    }
    """

    sheet = getters.query_one(Sheet)
    hints = getters.query_one(HintLine)
    bar = getters.query_one(SearchBar)

    def __init__(
        self,
        sections: Sequence[SheetSection],
        *,
        keymap: Keymap | None = None,
        copies: Path | None = None,
    ) -> None:
        """Show sections; `copies` is the folder for copies that are too large for a clipboard."""
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]
        self.keymap = keymap or Keymap()
        self._sections = sections
        self._copying = ClipboardCopier(self, copies)
        self._is_searching = False

    def on_mount(self) -> None:
        """Focus the sheet."""
        self.set_focus(self.sheet)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys but Back while a search is being typed."""
        if self._is_searching:
            return action == "back"
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """End the search, or close."""
        if self._is_searching:
            self._end_search()
        else:
            self.dismiss(None)

    def action_section(self, direction: int) -> None:
        """Go to another section."""
        self.sheet.go(direction)

    def action_line(self, direction: int) -> None:
        """Scroll a line."""
        self.sheet.scroll_relative(y=direction, animate=False)

    def action_page(self, direction: int) -> None:
        """Scroll a page."""
        self.sheet.scroll_relative(y=direction * max(1, self.sheet.size.height - 1), animate=False)

    def action_edge(self, direction: int) -> None:
        """Scroll to the top or the end."""
        self.sheet.edge(direction)

    def action_copy(self) -> None:
        """Copy the current section."""
        self._copying.text(self._sections[self.sheet.current].copied)

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy was saved."""
        self.hints.stand(words if not is_error else f"! {words}")

    # Searching

    def action_find(self) -> None:
        """Open the search."""
        self._is_searching = True
        self.bar.ask()

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        self.sheet.seek(event.text)
        self._find(1, fresh=True)

    @on(SearchBar.Sought)
    def _find_next(self) -> None:
        self._find(1)

    def action_again(self, direction: int) -> None:
        """Go to another match of the last search."""
        self._find(direction)

    @work(exclusive=True, group="find")
    async def _find(self, direction: int, *, fresh: bool = False) -> None:
        text = self.bar.text
        is_found = bool(text) and await self.sheet.find(direction, fresh=fresh)
        if self._is_searching:
            self.bar.say("" if is_found or not text else "no matches")
        elif not is_found:
            self.hints.flash("No matches" if text else "Nothing to search for", FLASH_S)

    def _end_search(self) -> None:
        self._is_searching = False
        self.set_focus(self.sheet)
        self.bar.hide()
