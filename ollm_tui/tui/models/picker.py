"""Choose a model of any provider that can be reached."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs.filter_list import FilterList
from ollm_tui.tui.models.picker_rows import (
    ModelRow,
    PickerSection,
    problem_lines,
    row_content,
    rows_of,
    sections,
)
from ollm_tui.tui.services import Catalog

if TYPE_CHECKING:
    from ollm_tui.providers.catalog import Listing
    from ollm_tui.tui.capabilities import KnowsOtherFolders

AIRY = 30
"""From so many rows on the sections stand apart."""
PATIENCE_S = 5.0
"""How long a provider may take to list its models."""


class PickModel(FilterList[ModelRef | None]):
    """A list that fills as the providers answer."""

    HEADING = "Choose a model"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "ask_again", "Refresh", show=False, priority=True)
    ]

    def __init__(
        self,
        catalog: Catalog,
        current: str | None,
        recents: Sequence[str],
        others: "KnowsOtherFolders | None" = None,
    ) -> None:
        super().__init__()
        self._others = others
        self._beside = ""
        self._catalog = catalog
        self._current = current
        self._recents = recents
        self._listings: dict[str, Listing] = {}
        self._shown: dict[str, ModelRow] = {}
        self._is_asking = True

    def on_mount(self) -> None:
        """Show what is known and ask."""
        for listing in self._catalog.cached():
            self._listings[listing.provider] = listing
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        async with self._catalog.listings(within_s=PATIENCE_S) as answers:
            async for listing in answers:
                self._listings[listing.provider] = listing
                self._show(mark=self.marked)
        self._is_asking = False
        self._show(mark=self.marked)
        if self._others is not None and not self._shown:
            self._beside = (await self._others.other_folders()).words
            self._show(mark=self.marked)

    def action_ask_again(self) -> None:
        """Look for engines and ask for their models anew."""
        self._catalog.forget()
        self._listings.clear()
        self._is_asking = True
        self._show(mark=self.marked)
        self._ask()

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show()

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(lambda: self._show(mark=self.marked))

    def _show(self, mark: str | None = None) -> None:
        rows = [row for listing in self._listings.values() for row in rows_of(listing)]
        self._shown = {}
        options: list[Option] = []
        for section in sections(rows, self.query_text, self._recents):
            if options and self.app.size.height >= AIRY:
                options.append(Option("", disabled=True))
            options += self._options(section)
        self.fill(options, mark=mark)
        self.say(self._about())

    def _options(self, section: PickerSection) -> list[Option]:
        options: list[Option] = []
        if section.heading:
            heading = Content.styled(section.heading, "$text-primary")
            options.append(Option(heading, disabled=True))
        for row in section.rows:
            option_id = f"{section.heading}/{row.ref}"
            self._shown[option_id] = row
            prompt = row_content(
                row,
                self.row_width,
                is_current=str(row.ref) == self._current,
                names_provider=section.names_provider,
            )
            options.append(Option(prompt, id=option_id))
        return options

    def _about(self) -> str:
        lines = problem_lines(self._listings.values())
        if self._is_asking:
            lines.append("Loading models…")
        elif not self._shown:
            query = self.query_text
            none = f"No model matches {query!r}." if query else "No models found."
            lines.append(f"{none} /pull finds and downloads models. Esc close")
            lines += [clean_line(self._beside)] if self._beside and not query else []
        else:
            lines.append("Enter use · F5 refresh · Esc close · ● loaded · ? assumed · ! set")
        return "\n".join(lines)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        row = self._shown.get(event.option_id or "")
        if row is not None:
            self.dismiss(row.ref)
