"""Choose a model of any provider that can be reached."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import window
from ollm_tui.frontend.model_facts import can_chat
from ollm_tui.models.tasks import task_list
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.tui.dialogs import FilterList
from ollm_tui.tui.models.entry import LIST_TIMEOUT_S, ModelEntry, extra_abilities, matching
from ollm_tui.tui.models.messages import problem_line

if TYPE_CHECKING:
    from ollm_tui.runtime.media.task_defaults import TaskDefaults
    from ollm_tui.runtime.other_models import OtherFolders

MIN_NAME_WIDTH = 22
"""Cells of a name before a column is left out."""
_OTHERS: Final = "For other tasks: Enter makes it the default"


@dataclass(frozen=True, slots=True)
class PickerSection:
    """Rows below one heading."""

    heading: str
    rows: tuple[ModelEntry, ...]
    names_provider: bool = False
    """Whether each row names its provider, because the heading does not."""


def rows_of(listing: Listing) -> list[ModelEntry]:
    """Return the models of one provider that can chat, as far as is known."""
    return [
        ModelEntry(ModelRef(listing.provider, info.name), info, listing.label)
        for info in listing.models
        if can_chat(info)
    ]


def task_rows_of(listing: Listing, defaults: "TaskDefaults") -> list[ModelEntry]:
    """Return the models of one provider that are for other tasks than to chat."""
    entries = (
        ModelEntry(
            ref := ModelRef(listing.provider, info.name),
            info,
            listing.label,
            tasks=defaults.tasks_of(ref, info),
            default_for=defaults.defaults_of(ref),
        )
        for info in listing.models
        if not can_chat(info)
    )
    return [entry for entry in entries if entry.tasks]


def sections(
    rows: Sequence[ModelEntry],
    query: str,
    recents: Sequence[str],
    others: Sequence[ModelEntry] = (),
) -> list[PickerSection]:
    """Return recent models first, then all by provider, then `others`, which are for other tasks.

    With a query, the best match comes first.
    """
    if query.strip():
        matches = matching([*rows, *others], query, recents, with_facts=False)
        return [PickerSection("", tuple(matches), names_provider=True)]
    recent = matching((row for row in rows if str(row.ref) in recents), "", recents)
    first = [PickerSection("Recent", tuple(recent[:5]), names_provider=True)] if recent else []
    labels = dict.fromkeys(row.label for row in rows)
    last = [PickerSection(_OTHERS, tuple(others), names_provider=True)] if others else []
    return [
        *first,
        *(PickerSection(one, tuple(row for row in rows if row.label == one)) for one in labels),
        *last,
    ]


def row_content(row: ModelEntry, width: int, *, is_current: bool, names_provider: bool) -> Content:
    """Return one row of `width` cells; what does not fit is left out from the right."""
    info = row.info
    facts = [
        (size_text(info.size_bytes) if info.size_bytes else "").rjust(7),
        (window(info.context) if info.context else "").rjust(4),
        _purpose(row).ljust(24),
    ]
    room = width - 3
    while facts and room - sum(len(fact) + 2 for fact in facts) < MIN_NAME_WIDTH:
        facts.pop()
    room -= sum(len(fact) + 2 for fact in facts)
    name = _shortened(clean_name(row.ref.model), max(8, room))
    left = room - Content(name).cell_length - 2
    provider = _shortened(clean_name(row.label), left) if names_provider and left > 3 else ""
    title = Content.assemble(
        ("● " if info.loaded else "  ", "$text-success"),
        (name, "bold" if is_current else ""),
        (f"  {provider}" if provider else "", "$text-muted"),
    )
    gap = max(0, room + 2 - title.cell_length)
    rest = "".join(f"  {fact}" for fact in facts)
    return Content.assemble(title, " " * gap, (rest, "$text-muted"))


def _purpose(row: ModelEntry) -> str:
    if not row.tasks:
        return " ".join(extra_abilities(row.info))
    return task_list(row.tasks) + (", default" if row.default_for else "")


def _shortened(text: str, width: int) -> str:
    content = Content(text)
    return text if content.cell_length <= width else content.truncate(width, ellipsis=True).plain


def problem_lines(listings: Iterable[Listing]) -> list[str]:
    """Return a line for each provider without a list."""
    return [problem_line(one.label, one.problem.message) for one in listings if one.problem]


ROOMY = 30
"""From so many rows on there is an empty row between sections."""


class ModelPicker(FilterList[ModelRef | None]):
    """A list that fills as the providers answer."""

    HEADING = "Choose a model"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "refresh_lists", "Refresh", show=False, priority=True)
    ]

    def __init__(
        self,
        catalog: ModelCatalog,
        current: str | None,
        recents: Sequence[str],
        find_other_folders: "Callable[[], Awaitable[OtherFolders]]",
        defaults: "TaskDefaults",
    ) -> None:
        super().__init__()
        self._defaults = defaults
        self._find_other_folders = find_other_folders
        self._other_folders = ""
        self._catalog = catalog
        self._current = current
        self._recents = recents
        self._listings: dict[str, Listing] = {}
        self._shown: dict[str, ModelEntry] = {}
        self._is_loading = True

    def on_mount(self) -> None:
        """Show what is known and load the rest."""
        for listing in self._catalog.cached():
            self._listings[listing.provider] = listing
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        async with self._catalog.listings(within_s=LIST_TIMEOUT_S) as answers:
            async for listing in answers:
                self._listings[listing.provider] = listing
                self.show_rows(self.marked)
        self._is_loading = False
        self.show_rows(self.marked)
        if not self._shown:
            self._other_folders = (await self._find_other_folders()).words
            self.show_rows(self.marked)

    def action_refresh_lists(self) -> None:
        """Look for engines and load all lists again."""
        self._catalog.forget()
        self._listings.clear()
        self._is_loading = True
        self.show_rows(self.marked)
        self._load()

    def show_rows(self, mark: str | None = None) -> None:
        """List the models that match, by section."""
        listings = self._listings.values()
        rows = [row for listing in listings for row in rows_of(listing)]
        others = [row for listing in listings for row in task_rows_of(listing, self._defaults)]
        self._shown = {}
        options: list[Option] = []
        for section in sections(rows, self.query_text, self._recents, others):
            if options and self.app.size.height >= ROOMY:
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
            is_current, by_name = str(row.ref) == self._current, section.names_provider
            prompt = row_content(row, self.row_width, is_current=is_current, names_provider=by_name)
            options.append(Option(prompt, id=option_id))
        return options

    def _about(self) -> str:
        lines = problem_lines(self._listings.values())
        if self._is_loading:
            lines.append("Loading models…")
        elif not self._shown:
            query = self.query_text
            none = f"No model matches {query!r}." if query else "No models found."
            lines.append(f"{none} /pull finds and downloads models. Esc close")
            lines += [clean_line(self._other_folders)] if self._other_folders and not query else []
        else:
            lines.append("Enter use · F5 refresh · Esc close · ● loaded · ? assumed · ! set")
        return "\n".join(lines)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if (row := self._shown.get(event.option_id or "")) is not None:
            self.dismiss(row.ref)
