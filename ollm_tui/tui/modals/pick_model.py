"""Choose a model of any provider that can be reached."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.modals.model_rows import (
    ModelRow,
    Section,
    problem_lines,
    row_content,
    rows_of,
    sections,
)
from ollm_tui.tui.services import Catalog

if TYPE_CHECKING:
    from ollm_tui.providers.catalog import Listing

PATIENCE_S = 5.0
"""How long a provider may take to list its models."""


class PickModel(ModalScreen[ModelRef | None]):
    """A list that fills as the providers answer, and narrows as one types."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+l", "dismiss(None)", "Close", show=False, priority=True),
        Binding("down", "move(1)", "Next", show=False, priority=True),
        Binding("up", "move(-1)", "Previous", show=False, priority=True),
        Binding("pagedown", "move(10)", "Further down", show=False, priority=True),
        Binding("pageup", "move(-10)", "Further up", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    PickModel {
        align: center middle;
        & > Vertical { width: 84; max-width: 94%; height: 26; max-height: 90%; }
    }
    """

    def __init__(self, catalog: Catalog, current: str | None, recents: Sequence[str]) -> None:
        super().__init__()
        self._catalog = catalog
        self._current = current
        self._recents = recents
        self._listings: dict[str, Listing] = {}
        self._shown: dict[str, ModelRow] = {}
        self._is_asking = True

    def compose(self) -> ComposeResult:
        """Lay out the filter, the list and the line about it."""
        with Vertical(classes="dialog"):
            yield Static("Choose a model", classes="title", markup=False)
            yield Input(placeholder="Type to filter", id="filter", compact=True)
            yield OptionList(id="models", compact=True, markup=False)
            yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        """Begin to ask."""
        for listing in self._catalog.cached():
            self._listings[listing.provider] = listing
        self._ask()

    @work(exclusive=True, exit_on_error=True)
    async def _ask(self) -> None:
        async with self._catalog.listings(within_s=PATIENCE_S) as answers:
            async for listing in answers:
                self._listings[listing.provider] = listing
                self._fill()
        self._is_asking = False
        self._fill()

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._fill(keep=False)

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._fill)

    def _fill(self, *, keep: bool = True) -> None:
        models = self.query_one("#models", OptionList)
        highlighted = models.highlighted
        marked = models.get_option_at_index(highlighted).id if keep and highlighted else None
        rows = [row for listing in self._listings.values() for row in rows_of(listing)]
        query = self.query_one("#filter", Input).value
        self._shown = {}
        with self.app.batch_update():
            models.clear_options()
            for section in sections(rows, query, self._recents):
                models.add_options(self._options(section, models.size.width - 2))
            self._mark(models, marked)
            self._say(query)

    def _options(self, section: Section, width: int) -> list[Option]:
        options: list[Option] = []
        if section.heading:
            heading = Content.styled(section.heading, "$text-muted")
            options.append(Option(heading, disabled=True))
        for row in section.rows:
            option_id = f"{section.heading}/{row.ref}"
            self._shown[option_id] = row
            prompt = row_content(
                row,
                width,
                is_current=str(row.ref) == self._current,
                names_provider=section.names_provider,
            )
            options.append(Option(prompt, id=option_id))
        return options

    def _mark(self, models: OptionList, option_id: str | None) -> None:
        if option_id in self._shown:
            models.highlighted = models.get_option_index(option_id)
        elif self._shown:
            models.highlighted = models.get_option_index(next(iter(self._shown)))

    def _say(self, query: str) -> None:
        lines = problem_lines(self._listings.values())
        if self._is_asking:
            lines.append("Asking for models…")
        elif not self._shown:
            lines.append(f"No model matches {query!r}." if query else "No model was found.")
        elif not lines:
            lines.append("Enter choose · Esc close · ● loaded")
        self.query_one("#about", Static).update(Content("\n".join(lines)))

    def action_move(self, steps: int) -> None:
        """Move the mark, past headings."""
        models = self.query_one("#models", OptionList)
        for _step in range(abs(steps)):
            models.action_cursor_down() if steps > 0 else models.action_cursor_up()

    @on(Input.Submitted)
    def _choose_marked(self) -> None:
        models = self.query_one("#models", OptionList)
        if models.highlighted is not None:
            models.action_select()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        row = self._shown.get(event.option_id or "")
        if row is not None:
            self.dismiss(row.ref)
