"""The models screen: all models of all providers, and what can be done with them."""

from collections.abc import Callable
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
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs.choice import ChoiceRow
from ollm_tui.tui.dialogs.filter_list import LONGEST_FILTER
from ollm_tui.tui.downloads.dock_actions import ShowsDownloads
from ollm_tui.tui.downloads.progress import find_models_page
from ollm_tui.tui.keys.help_dialog import Help
from ollm_tui.tui.keys.palette import Entry, entries
from ollm_tui.tui.keys.palette_dialog import Palette
from ollm_tui.tui.keys.table import EDITING, Keymap
from ollm_tui.tui.models.abilities import can_chat, why_no_chat
from ollm_tui.tui.models.actions import KEY_OF, ModelActions
from ollm_tui.tui.models.asking import ModelAsking
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.models.facts import ModelFacts
from ollm_tui.tui.models.list_cache import ModelListCache
from ollm_tui.tui.models.messages import count_words, empty_words, memory_lines, problem_lines
from ollm_tui.tui.models.operations import ModelOperations, Outcome
from ollm_tui.tui.models.order import Sorting, arranged, next_sorting, sorted_by
from ollm_tui.tui.models.table import ModelTable
from ollm_tui.tui.services import Runtime
from ollm_tui.tui.widgets.header import ChatHeader
from ollm_tui.tui.widgets.key_line import KeyLine
from ollm_tui.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from ollm_tui.runtime.actions import ModelAction

LOW: Final = 20
"""On a screen of fewer rows what is in memory has no lines of its own."""
LOOK_AGAIN_S: Final = 20.0
"""How often what is in memory is asked for while something is there."""


def utc_now() -> datetime:
    """Give the time."""
    return datetime.now(UTC)


class ModelsScreen(ShowsDownloads):
    """Gives the model to chat with; None leaves the chat's own."""

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

    def __init__(
        self,
        runtime: Runtime,
        model_work: ModelOperations,
        keymap: Keymap,
        *,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__(runtime)
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW, "-high")]
        self.keymap = keymap
        self._runtime = runtime
        self._work = model_work
        self._now = now or utc_now
        self._shelf = ModelListCache()
        self._asking = ModelAsking(runtime, self._shelf, self._listed, model_work.gone)
        self._deeds = ModelActions(self, model_work)
        self._sorting: Sorting | None = None
        self._said = ("", False)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Models")
        with Horizontal(id="filter"):
            yield TextField(
                placeholder="Filter by name, provider or ability",
                max_length=LONGEST_FILTER,
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
        """Show what is known, and ask."""
        self._work.watch(self)
        self._show_own()
        self._show(mark=self.current_ref)
        self._ask()
        self._look_at_machine()
        self.follow_downloads()
        self.set_interval(LOOK_AGAIN_S, self._look_at_memory)

    def on_unmount(self) -> None:
        """What goes on tells the chat from now on."""
        self._work.watch(None)

    @property
    def current_ref(self) -> ModelRef | None:
        """The model of the open chat."""
        return self._work.own_model

    # Asking

    @work(exclusive=True, group="lists")
    async def _ask(self, *, anew: bool = False) -> None:
        await self._asking.lists(anew=anew)
        self._ask_for_memory()
        await self._asking.folders()

    def _listed(self) -> None:
        """Show what has come; what can be done with a model may have changed with it."""
        self._deeds.forget()
        self._show_own()
        self._show()

    @work(exclusive=True, group="memory")
    async def _ask_for_memory(self) -> None:
        await self._asking.memory()

    @work(group="machine")
    async def _look_at_machine(self) -> None:
        await self._asking.machine()

    def _look_at_memory(self) -> None:
        if self._shelf.running:
            self._ask_for_memory()

    def action_ask_again(self) -> None:
        """Look for engines and ask for their models anew."""
        self.say("")
        self._ask(anew=True)

    # Showing

    def _show(self, mark: ModelRef | None = None, *, marks_first: bool = False) -> None:
        if not self.has_its_parts:
            return
        entries = self._shelf.entries()
        query, marked = self.filter.value, self.table.marked
        kept = arranged(entries, query, self._sorting, self._runtime.recent_models())
        mark = mark or (marked.ref if marked else None)
        if marks_first and kept:
            mark = kept[0].ref
        self.table.show(kept, self._sorting, mark=mark, has_fit=self._shelf.knows_fit)
        by = self._sorting.head if self._sorting else ""
        count = count_words(len(kept), len(entries), by) if entries else ""
        self._write("#count", count)
        self.set_class(not kept, "-empty")
        if not kept:
            self._write("#empty", self._empty_words())
        self._look_at_deeds(self.table.marked)
        self._show_facts()

    def _show_own(self) -> None:
        """Say which model answers in the open chat."""
        if not self.has_its_parts:
            return
        own = self.current_ref
        self.table.show_current(str(own) if own else None)
        provider = self._runtime.catalog.shown_name(own.provider) if own else ""
        self.query_one(ChatHeader).show_model(own.model if own else "", provider)

    def _show_facts(self) -> None:
        if not self.has_its_parts:
            return
        facts = self.query_one(ModelFacts)
        facts.show_problems(problem_lines(self._shelf.listings))
        facts.show_memory(memory_lines(self._shelf.running, self._now()))
        words, is_error = self._said
        ongoing = [*self._work.ongoing]
        if self._asking.is_asking and not ongoing and not words:
            ongoing.append("Loading models…")
        facts.show_said([*ongoing, *([words] if words else [])], is_error=is_error)
        self._show_keys()

    def _empty_words(self) -> str:
        return empty_words(
            self._shelf.listings,
            self.filter.value,
            is_asking=self._asking.is_asking,
            again_key=self.keymap.key_for("models.ask_again"),
            find_key=self.keymap.key_for("models.find"),
            beside=self._asking.beside,
        )

    def _write(self, where: str, text: str) -> None:
        self.query_one(where, Static).update(Content(text))

    def say(self, words: str, *, is_error: bool = False) -> None:
        """Show a sentence above the keys, until there is another."""
        self._said = (clean_line(words), is_error)
        self._show_facts()

    def work_changed(self, outcome: Outcome | None) -> None:
        """Show what is being done, or how it ended; then the lists may be others."""
        if outcome is None:
            self.say("")
            return
        words = f"{outcome.words} {outcome.hint}" if outcome.hint else outcome.words
        self._show_own()
        self.say(words, is_error=outcome.is_error)
        self._ask()

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show(marks_first=True)

    # What can be done

    @on(ModelTable.Marked)
    def _another_marked(self, event: ModelTable.Marked) -> None:
        self._show_keys()
        self._look_at_deeds(event.entry)

    def _look_at_deeds(self, entry: ModelEntry | None) -> None:
        if entry is not None:
            self._ask_for_deeds(entry)

    @work(exclusive=True, group="deeds")
    async def _ask_for_deeds(self, entry: ModelEntry) -> None:
        await self._deeds.refusals(entry.ref)
        self._show_keys()
        await self._asking.describe(entry)

    def _show_keys(self) -> None:
        if not self.has_its_parts:
            return
        entry = self.table.marked
        ids = ["models.find", "models.ask_again", "models.back", "models.help"]
        if entry is not None:
            known = self._deeds.known(entry.ref) or {}
            memory: ModelAction = "unload" if entry.is_loaded else "load"
            wanted: tuple[ModelAction, ...] = ("show", memory, "delete", "copy")
            can = [KEY_OF[deed] for deed in wanted if known.get(deed, "") is None]
            first = ["models.chat"] if can_chat(entry.info) else []
            shown = [*first, "models.menu", "models.find", "models.back", *can, "models.sort"]
            ids = [*shown, "models.ask_again", "models.help"]
        self.query_one(KeyLine).show(self.keymap.hints_of(*ids))

    @work(exclusive=True, group="ask")
    async def action_deed(self, deed: "ModelAction") -> None:
        """Do something with the marked model."""
        if (entry := self.table.marked) is not None:
            await self._deeds.do(deed, entry)

    @work(exclusive=True, group="ask")
    async def action_menu(self) -> None:
        """List all that can be done."""
        entry = self.table.marked
        if entry is None:
            return
        chat = ChoiceRow(
            "chat",
            "Chat with it",
            self.keymap.key_for("models.chat"),
            why_no_chat(entry.info),
        )
        action = await self._deeds.menu(entry, [chat])
        if action is not None:
            await self.run_action(action)

    def action_chat(self) -> None:
        """Chat with the selected model."""
        if (entry := self.table.marked) is not None:
            self.chat_with(entry)

    @on(ModelTable.Chosen)
    def _chosen(self, event: ModelTable.Chosen) -> None:
        self.chat_with(event.entry)

    def chat_with(self, entry: ModelEntry) -> None:
        """Go back to the chat with a model, if it can chat."""
        if (reason := why_no_chat(entry.info, entry.name)) is None:
            self.dismiss(entry.ref)
        else:
            self.say(reason, is_error=True)

    # Fetching

    @work(exclusive=True, group="view")
    async def action_find_models(self) -> None:
        """Open the screen that finds models."""
        # What is not here is looked for by the same words.
        words = self.filter.value if self.table.marked is None else ""
        page = await find_models_page(self._runtime, self.keymap, words)
        if self.app.screen is self:
            self.app.push_screen(page, self._found)

    def _found(self, ref: ModelRef | None) -> None:
        if ref is not None:
            self.dismiss(ref)
        else:
            self.follow_downloads()
            self._ask()

    def say_of_downloads(self, words: str) -> None:
        """Tell why something cannot be done."""
        self.say(words, is_error=True)

    def model_arrived(self) -> None:
        """List what is there now."""
        self._ask()

    # Keys

    def action_show(self, view: Literal["help", "palette"]) -> None:
        """Open a dialog."""
        if view == "help":
            self.app.push_screen(Help(self.keymap.keys, EDITING, COMMANDS, "models"))
        else:
            own = [key for key in self.keymap.keys if key.scope == "models"]
            self.app.push_screen(Palette(entries(own, ())), self._run)

    async def _run(self, entry: Entry | None) -> None:
        if entry is not None:
            await self.run_action(entry.action)

    def action_back(self) -> None:
        """Go back to the chat; what is being done goes on."""
        self.dismiss(None)

    def action_clear(self) -> None:
        """Clear the filter, or go back."""
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
        is_same = now is not None and now.column == column
        self._sort(now.turned if now is not None and is_same else sorted_by(column))

    def _sort(self, sorting: Sorting | None) -> None:
        self._sorting = sorting
        self._show()
