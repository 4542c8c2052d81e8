"""The models screen: the models of all providers, and what can be done with them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.commands import COMMANDS
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.model_facts import can_chat, why_no_chat
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import (
    MAX_FILTER_LENGTH,
    ChoiceRow,
    DialogOpener,
    Help,
    Palette,
    PaletteEntry,
    palette_entries,
)
from ollm_tui.tui.downloads import ShowsDownloads, find_models_page
from ollm_tui.tui.keys import Keymap, named_commands
from ollm_tui.tui.models.actions import ModelActions
from ollm_tui.tui.models.columns import Sorting, arranged, next_sorting, sorted_by
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.models.messages import (
    ModelFacts,
    count_words,
    empty_words,
    memory_lines,
    problem_lines,
)
from ollm_tui.tui.models.model_list import ModelListCache, ModelListLoader
from ollm_tui.tui.models.operations import ModelOperations, Outcome
from ollm_tui.tui.models.table import ModelTable
from ollm_tui.tui.widgets import ChatHeader, KeyLine, TextField

if TYPE_CHECKING:
    from ollm_tui.models.actions import ModelAction
    from ollm_tui.models.tasks import ModelTask
    from ollm_tui.runtime.compose import Runtime

LOW: Final = 20
"""On a screen of fewer rows the loaded models have no lines of their own."""
RELOAD_S: Final = 20.0
"""How often to reload which models are loaded, while there are any."""


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


class ModelsScreen(ShowsDownloads):
    """Returns the model to chat with, or None to keep the chat's own."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("models")]
    YIELDS: ClassVar[frozenset[str]] = frozenset({"chat", "move", "back", "to_downloads"})
    PARTS = (
        *("ChatHeader", "Input", "#count", "ModelTable", "#empty", "ModelFacts"),
        *("DownloadsDock", "KeyLine"),
    )
    DEFAULT_CSS = """
    ModelsScreen {
        & > #filter { height: 1; padding: 0 1; }
        #filter > Input, #filter > Input:focus {
            width: 1fr; height: 1; border: none; background: $panel; padding: 0 1;
        }
        #count { width: auto; height: 1; padding: 0 1 0 2; color: $text-muted; }
        & > ModelTable { margin: 1 0 0 0; }
        & > #empty { display: none; height: 1fr; padding: 1 3; color: $text-muted; }
        &.-empty > ModelTable { display: none; }
        &.-empty > #empty { display: block; }
        #downloads { height: auto; max-height: 33%; }
        &.-low > ModelTable { margin: 0; }
        &.-low > ModelFacts > Static { max-height: 2; }
        &.-low > ModelFacts > #memory.-shown { display: none; }
        &:ansi #count, &:ansi #empty { text-style: dim; }
    }
    """

    table = getters.query_one(ModelTable)
    filter = getters.query_one("#filter > Input", Input)

    def __init__(self, runtime: "Runtime", operations: ModelOperations, keymap: Keymap) -> None:
        super().__init__(runtime)
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW, "-high")]
        self.keymap = keymap
        self._operations = operations
        self._now = utc_now
        self._cache = ModelListCache(runtime.task_defaults)
        self._loader = ModelListLoader(runtime, self._cache, self._lists_changed, operations)
        dialogs = DialogOpener(self)
        self._actions = ModelActions(operations, keymap, dialogs, self.say, self.chat_with)
        self._sorting: Sorting | None = None
        self._sentence = ("", False)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Models")
        with Horizontal(id="filter"):
            yield TextField(
                placeholder="Filter by name, provider or ability",
                max_length=MAX_FILTER_LENGTH,
                compact=True,
            )
            yield Static("", id="count", markup=False)
        yield ModelTable()
        yield Static("", id="empty", markup=False)
        yield ModelFacts()
        with Vertical(id="downloads"):
            yield self.make_dock(self.keymap, "models.downloads")
        yield KeyLine()

    def on_mount(self) -> None:
        """Show what is known and load the rest."""
        self._operations.watch(self)
        self._show_chat_model()
        self._show(mark=self._operations.chat.ref)
        self._load_lists()
        self._check_machine()
        self.follow_downloads()
        self.set_interval(RELOAD_S, self._reload_running)

    def on_unmount(self) -> None:
        """Leave what is in progress to the chat."""
        self._operations.watch(None)

    # Loading

    @work(exclusive=True, group="lists")
    async def _load_lists(self, *, refresh: bool = False) -> None:
        await self._loader.load_lists(refresh=refresh)
        self._load_running()
        await self._loader.check_other_folders()

    def _lists_changed(self) -> None:
        self._actions.known_refusals.clear()
        self._show_chat_model()
        self._show()

    @work(exclusive=True, group="memory")
    async def _load_running(self) -> None:
        await self._loader.load_running()

    @work(group="machine")
    async def _check_machine(self) -> None:
        await self._loader.check_machine()

    def _reload_running(self) -> None:
        if self._cache.running:
            self._load_running()

    def action_refresh_lists(self) -> None:
        """Look for engines and load all lists again."""
        self.say("")
        self._load_lists(refresh=True)

    # Showing

    def _show(self, mark: ModelRef | None = None, *, marks_first: bool = False) -> None:
        if not self.has_its_parts:
            return
        entries = self._cache.entries()
        query, marked = self.filter.value, self.table.marked
        kept = arranged(entries, query, self._sorting, self._runtime.recent_models())
        mark = mark or (marked.ref if marked else None)
        if marks_first and kept:
            mark = kept[0].ref
        self.table.show(kept, self._sorting, mark=mark, has_fit=self._cache.knows_fit)
        by = self._sorting.head if self._sorting else ""
        self._write("#count", count_words(len(kept), len(entries), by) if entries else "")
        self.set_class(not kept, "-empty")
        if not kept:
            self._write("#empty", self._empty_words())
        if self.table.marked is not None:
            self._load_entry(self.table.marked)
        self._show_facts()

    def _show_chat_model(self) -> None:
        if not self.has_its_parts:
            return
        own = self._operations.chat.ref
        self.table.show_current(str(own) if own else None)
        provider = self._runtime.catalog.shown_name(own.provider) if own else ""
        self.query_one(ChatHeader).show_model(own.model if own else "", provider)

    def _show_facts(self) -> None:
        if not self.has_its_parts:
            return
        words, is_error = self._sentence
        sentence = [*self._operations.running.values(), *([words] if words else [])]
        if self._loader.is_loading and not sentence:
            sentence.append("Loading models…")
        problems = problem_lines(self._cache.listings)
        memory = memory_lines(self._cache.running, self._now())
        self.query_one(ModelFacts).show(problems, memory, sentence, is_error=is_error)
        self._show_keys()

    def _empty_words(self) -> str:
        return empty_words(
            self._cache.listings,
            self.filter.value,
            is_asking=self._loader.is_loading,
            again_key=self.keymap.key_for("models.refresh"),
            find_key=self.keymap.key_for("models.find"),
            beside=self._loader.other_folders,
        )

    def _write(self, where: str, text: str) -> None:
        self.query_one(where, Static).update(Content(text))

    def say(self, words: str, *, is_error: bool = False) -> None:
        """Show a sentence above the keys until there is another."""
        self._sentence = (clean_line(words), is_error)
        self._show_facts()

    def work_changed(self, outcome: Outcome | None) -> None:
        """Show what is in progress, or how it ended; then load the lists again."""
        if outcome is None:
            self.say("")
            return
        words = f"{outcome.words} {outcome.hint}" if outcome.hint else outcome.words
        self._show_chat_model()
        self.say(words, is_error=outcome.is_error)
        self._load_lists()

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show(marks_first=True)

    # Actions

    @on(ModelTable.Marked)
    def _mark_moved(self, event: ModelTable.Marked) -> None:
        self._show_keys()
        if event.entry is not None:
            self._load_entry(event.entry)

    @work(exclusive=True, group="entry")
    async def _load_entry(self, entry: ModelEntry) -> None:
        await self._actions.refusals(entry.ref)
        self._show_keys()
        await self._loader.describe(entry)

    def _show_keys(self) -> None:
        if not self.has_its_parts:
            return
        entry = self.table.marked
        ids = ["models.find", "models.refresh", "models.back", "models.help"]
        if entry is not None:
            refusals = self._actions.known_refusals.get(entry.ref, {})
            named = named_commands(is_loaded=bool(entry.is_loaded))
            can = [one.key.id for one in named if refusals.get(one.action, "") is None]
            first = ["models.chat"] if can_chat(entry.info) else []
            shown = [*first, "models.menu", "models.find", "models.back", *can, "models.sort"]
            ids = [*shown, "models.refresh", "models.help"]
        self.query_one(KeyLine).show(self.keymap.hints_of(*ids))

    @work(exclusive=True, group="ask")
    async def action_model_action(self, action: "ModelAction") -> None:
        """Run an action on the marked model."""
        if (entry := self.table.marked) is not None:
            await self._actions.run(action, entry)

    @work(exclusive=True, group="ask")
    async def action_menu(self) -> None:
        """List all actions for the marked model."""
        if (entry := self.table.marked) is None:
            return
        key = self.keymap.key_for("models.chat")
        chat = ChoiceRow("chat", "Chat with it", key, why_no_chat(entry.info))
        action = await self._actions.menu(entry, [chat])
        if action is not None:
            await self.run_action(action)

    def action_use_for(self, task: "ModelTask", is_used: bool = True) -> None:
        """Make the marked model the default for a task, or no longer."""
        if (entry := self.table.marked) is not None:
            self._operations.use_for([task], entry.ref, is_used=is_used)

    def action_chat(self) -> None:
        """Chat with the selected model."""
        if (entry := self.table.marked) is not None:
            self.chat_with(entry)

    @on(ModelTable.Chosen)
    def _chosen(self, event: ModelTable.Chosen) -> None:
        self.chat_with(event.entry)

    def chat_with(self, entry: ModelEntry) -> None:
        """Return to the chat with a model, or show why it cannot chat."""
        if (reason := why_no_chat(entry.info, entry.name)) is None:
            self.dismiss(entry.ref)
            return
        menu = f" {self.keymap.key_for('models.menu')} lists what it is for." if entry.tasks else ""
        self.say(f"{reason}{menu}", is_error=True)

    # Downloads

    @work(exclusive=True, group="view")
    async def action_find_models(self) -> None:
        """Open the model search."""
        # a model that is not here is searched for by the same words
        words = self.filter.value if self.table.marked is None else ""
        page = await find_models_page(self._runtime, self.keymap, words)
        if self.app.screen is self:
            self.app.push_screen(page, self._return_with)

    def _return_with(self, ref: ModelRef | None) -> None:
        if ref is not None:
            self.dismiss(ref)
        else:
            self.follow_downloads()
            self._load_lists()

    def model_arrived(self) -> None:
        """Load the lists again."""
        self._load_lists()

    # Keys

    def action_show(self, view: Literal["help", "palette"]) -> None:
        """Open a dialog."""
        if view == "help":
            self.app.push_screen(Help(self.keymap, COMMANDS, "models"))
        else:
            own = self.keymap.of_scopes("models")
            self.app.push_screen(Palette(palette_entries(own, ())), self._run)

    async def _run(self, entry: PaletteEntry | None) -> None:
        if entry is not None:
            await self.run_action(entry.action)

    def action_back(self) -> None:
        """Return to the chat; what is in progress goes on."""
        self.dismiss(None)

    def action_clear(self) -> None:
        """Clear the filter, or return to the chat if it is empty."""
        if self.filter.value:
            self.filter.value = ""
        else:
            self.dismiss(None)

    def action_move(self, steps: int) -> None:
        """Move the mark."""
        self.table.move(steps)

    def action_page(self, pages: int) -> None:
        """Move the mark by pages."""
        self.table.move_page(pages)

    def action_edge(self, way: int) -> None:
        """Mark the first or the last model."""
        self.table.move(way * 10**9)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort(next_sorting(self._sorting, self.table.columns))

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        if self._sorting is not None:
            self._sort(self._sorting.turned)

    @on(ModelTable.HeadClicked)
    def _head_clicked(self, event: ModelTable.HeadClicked) -> None:
        now, column = self._sorting, event.column.id
        self._sort(now.turned if now and now.column == column else sorted_by(column))

    def _sort(self, sorting: Sorting | None) -> None:
        self._sorting = sorting
        self._show()
