"""The details of one model: facts, abilities, effective settings and texts."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.dialogs import LeftOnce
from ollm_tui.tui.keys import MODEL_COMMANDS, KeyHint, Keymap
from ollm_tui.tui.models.sections import section_number, sections_of
from ollm_tui.tui.models.sheet import Sheet
from ollm_tui.tui.terminal import Copying
from ollm_tui.tui.transcript import SearchBar
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine, KeyLine

if TYPE_CHECKING:
    from ollm_tui.models.actions import ModelAction
    from ollm_tui.runtime.details import ModelDetails

DetailsAnswer: TypeAlias = 'ModelAction | Literal["chat"] | None'
"""The action to run on the model, or None."""


class ModelDetailsScreen(LeftOnce["DetailsAnswer"]):
    """Returns the action to run on the model; the opener asks first and runs it."""

    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("details")]
    DEFAULT_CSS = """
    ModelDetailsScreen {
        & > Sheet { height: 1fr; margin: 1 2 1 2; }
        &.-low > Sheet { margin: 0 2; }
    }
    """

    sheet = getters.query_one(Sheet)
    hints = getters.query_one(HintLine)
    bar = getters.query_one(SearchBar)

    def __init__(
        self,
        details: "ModelDetails",
        *,
        refusals: "Mapping[ModelAction, str | None] | None" = None,
        section: str | None = None,
        keymap: Keymap | None = None,
        copies: Path | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """Show `details`, the section of this id first.

        `refusals` has for each action why it is unavailable, or None; without it none is offered.
        `copies` is the folder for copies that are too large for a clipboard.
        """
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]
        self.details = details
        self.keymap = keymap or Keymap()
        self.provider_name = details.ref.provider
        self._refusals = refusals
        self._sections = sections_of(details, now() if now else datetime.now(UTC))
        self._first = section_number(self._sections, section) or 0
        self._copying = Copying(self, copies)
        self._is_searching = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Model details", self.details.ref.model, self.provider_name)
        yield Sheet(self._sections, first=self._first)
        yield HintLine()
        yield SearchBar([KeyHint("Enter", "next"), KeyHint("Esc", "close")])
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the sheet and show its keys."""
        self.set_focus(self.sheet)
        self._name_keys()

    def has(self, section: str) -> bool:
        """Return whether there is a section with this id."""
        return section_number(self._sections, section) is not None

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

    def action_leave(self, answer: 'ModelAction | Literal["chat"]') -> None:
        """Close with an action, or show why it is unavailable."""
        refusal = None
        if answer != "chat":
            refusals = self._refusals
            refusal = "Not available here." if refusals is None else refusals.get(answer)
        if refusal is None:
            self.dismiss(answer)
        else:
            self.hints.flash(clean_line(refusal), FLASH_S)

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

    @on(Sheet.Moved)
    def _name_keys(self) -> None:
        able = [
            one.details_key.id
            for one in MODEL_COMMANDS.values()
            if one.entry.details_name and one.entry.is_in_details_line
            if self._refusals is not None and self._refusals.get(one.action) is None
        ]
        ids = ("details.back", "details.next", "details.copy", "details.find", "details.chat")
        self.query_one(KeyLine).show(self.keymap.hints_of(*ids, *able))

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
