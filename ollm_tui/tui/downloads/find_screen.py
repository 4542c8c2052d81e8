"""The model search: the built-in list and the hub, downloaded to the library or by a server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import anyio
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.commands import COMMANDS
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.model_search import EntryRow, FindRow, Group, ModelFits, ModelSearch
from ollm_tui.library.downloads.job import Origin
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import DialogOpener, Help, fill_list, move_highlight
from ollm_tui.tui.downloads.choosing import RowChooser, rate
from ollm_tui.tui.downloads.dock_actions import ShowsDownloads, Sleep
from ollm_tui.tui.downloads.find_rows import about_row, head_content, row_content
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.widgets import KeyLine, TextField

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

PAUSE_S: Final = 0.4
"""How long typing must have paused before the hub is asked."""
MIN_LETTERS: Final = 2
"""Fewer letters are not sent to the hub."""
_BEST: Final = "the best that fit this machine"
_HINTS: Final = ("choose", "purpose", "rate", "downloads", "again", "close", "help")


class FindModels(ShowsDownloads):
    """Returns a downloaded model to chat with; downloads go on when it is closed."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("find_models")]
    YIELDS: ClassVar[frozenset[str]] = frozenset({"choose", "move", "close", "to_downloads"})
    PARTS = ("#title", "#head", "OptionList", "#row", "#sentence", "DownloadsDock")
    DEFAULT_CSS = """
    FindModels {
        & > #title { height: 1; padding: 0 1; color: $text-primary; text-style: bold; }
        & > Input, & > Input:focus {
            height: 1; border: none; padding: 0 1; margin: 0 1 1 1; background: $panel;
        }
        & > #head { height: 1; padding: 0 1; }
        & > OptionList, & > OptionList:focus {
            height: 1fr; border: none; background: transparent; padding: 0 1;
            scrollbar-size-vertical: 1;
            & > .option-list--option-disabled { color: $text-primary; }
            & > .option-list--option-highlighted {
                background: $block-cursor-background; color: $block-cursor-foreground;
                text-style: $block-cursor-text-style;
            }
        }
        & > #row { height: auto; max-height: 2; padding: 0 3; color: $text-muted; }
        & > #sentence { height: auto; max-height: 3; padding: 0 3; color: $text-warning; }
        & > #downloads { height: auto; }
        &:nocolor > OptionList > .option-list--option-highlighted {
            text-style: bold underline;
        }
    }
    """

    field = getters.query_one(Input)
    listed = getters.query_one(OptionList)

    def __init__(
        self, runtime: "Runtime", keymap: Keymap, text: str = "", *, sleep: Sleep = anyio.sleep
    ) -> None:
        super().__init__(runtime, sleep=sleep)
        self._keymap = keymap
        self._text = text
        self._search: ModelSearch | None = None
        self._rows: dict[str, FindRow] = {}
        self._sentence = ""
        self._sentence_row: str | None = None
        """The row that was marked then; the sentence goes when another row is marked."""
        self._has_moved = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static("", id="title", markup=False)
        yield TextField(
            clean_line(self._text),
            placeholder="Search, or enter owner/name, an address or a file",
            compact=True,
            select_on_focus=False,
        )
        yield Static("", id="head", markup=False)
        yield OptionList(compact=True, markup=False)
        yield Static("", id="row", markup=False)
        yield Static("", id="sentence", markup=False)
        with Vertical(id="downloads"):
            yield self.make_dock(self._keymap, "find_models.downloads")
        yield KeyLine()

    def on_mount(self) -> None:
        """Show what is known and load the rest."""
        hints = self._keymap.hints_of(*(f"find_models.{name}" for name in _HINTS))
        self.query_one(KeyLine).show(hints)
        self._open()

    @work(group="opening")
    async def _open(self) -> None:
        runtime = self._runtime
        self.follow_downloads(makes_them=True)
        await runtime.load_fetching()
        await runtime.model_registry.prepare()
        self._search = search = ModelSearch(runtime.model_registry, runtime.hub.address)
        search.type(self.field.value)
        self._show(is_new=True)
        self._search_hub()
        search.fits = ModelFits(await runtime.machine())
        self._show()
        self._check_targets()

    @work(group="targets", exclusive=True)
    async def _check_targets(self) -> None:
        """Find out where models can be downloaded to, and which are installed."""
        runtime, search = self._runtime, self._search
        if search is None:
            return
        search.targets = await runtime.download_targets()
        runtime.model_registry.note_installed(
            (ModelRef(listing.provider, info.name), info)
            for listing in runtime.catalog.cached()
            for info in listing.models
        )
        search.knows_installed = True
        await runtime.model_registry.prepare()
        self._show()

    # Searching

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._search is not None:
            self._search.type(event.value)
            self._show(is_new=True)
            self._search_hub()

    @work(group="hub", exclusive=True)
    async def _search_hub(self) -> None:
        """Search the hub once typing pauses; a newer search cancels this one."""
        search = self._search
        if search is None or len(search.hub_words) < MIN_LETTERS:
            return
        await self._sleep(PAUSE_S)
        search.is_asking = True
        self._show_sentence()
        await search.ask_hub()
        self._show()

    def action_refresh_results(self) -> None:
        """Search the hub again for the text."""
        self._search_hub()

    def action_next_purpose(self) -> None:
        """Filter by the next purpose."""
        if self._search is not None:
            self._search.next_purpose()
            self._show(is_new=True)

    @work(group="rating", exclusive=True)
    async def action_rate(self) -> None:
        """Rate the marked model."""
        row = self._marked
        if not isinstance(row, EntryRow):
            self.say("Only a listed model can be rated.")
            return
        sentence = await rate(DialogOpener(self), self._runtime.model_registry, row.entry)
        self._show()
        self.say(sentence)

    # Showing

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    def _show(self, *, is_new: bool = False) -> None:
        search = self._search
        if search is None or not self.has_its_parts:
            return
        self._has_moved = self._has_moved and not is_new
        mark = self._marked_id if self._has_moved else search.first_marked
        options: list[Option] = []
        self._rows = {}
        for group in search.groups():
            options += self._options(group)
        fill_list(self.listed, options, mark)
        width = self._row_width
        self.query_one("#head", Static).update(head_content(width))
        title = ("Find models", search.purpose or "", *([] if search.text.strip() else [_BEST]))
        self.query_one("#title", Static).update(Content(" · ".join(filter(None, title))))
        self._show_sentence()

    def _options(self, group: Group) -> list[Option]:
        options = []
        if group.heading:
            heading = Content.styled(f"  {group.heading.capitalize()}", "$text-primary")
            options.append(Option(heading, disabled=True))
        for row in group.rows:
            self._rows[row.id] = row
            options.append(Option(row_content(row, self._row_width), id=row.id))
        return options

    @property
    def _row_width(self) -> int:
        return max(20, self.size.width - 4)

    @property
    def _marked_id(self) -> str | None:
        option = self.listed.highlighted_option
        return option.id if option is not None else None

    @property
    def _marked(self) -> FindRow | None:
        return self._rows.get(self._marked_id or "")

    @on(OptionList.OptionHighlighted)
    def _mark_moved(self) -> None:
        if self._marked_id != self._sentence_row:
            self._sentence = ""
        self._show_sentence()

    def say(self, words: str, *, is_error: bool = False) -> None:
        """Show a sentence until another row is marked."""
        self._sentence, self._sentence_row = words, self._marked_id
        self._show_sentence()

    def _show_sentence(self) -> None:
        if not self.has_its_parts:
            return
        lines = about_row(self._marked, self._runtime.catalog.shown_address)
        self.query_one("#row", Static).update(Content("\n".join(lines)))
        self.query_one("#sentence", Static).update(Content(self._words()))

    def _words(self) -> str:
        search = self._search
        if self._sentence or search is None:
            return self._sentence
        if search.is_asking:
            return "Searching the hub…"
        if search.hub_error is not None:
            return f"{clean_line(str(search.hub_error))} Only local results are shown."
        return search.refusal or ("" if self._rows else "No models match.")

    # Choosing

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        """Download the marked row, or ask which file of it."""
        search, row = self._search, self._marked
        if search is not None and row is not None:
            chooser = RowChooser(
                DialogOpener(self),
                self._runtime.hub,
                self._keymap,
                download=self._download,
                chat=self.dismiss,
                say=self.say,
            )
            chooser.choose(row, search)

    @work(group="fetch")
    async def _download(self, origins: Sequence[Origin]) -> None:
        await self.change_queue(self._add(origins))

    async def _add(self, origins: Sequence[Origin]) -> None:
        for origin in origins:
            await self._runtime.downloads.add(origin)

    def model_arrived(self) -> None:
        """Mark what is installed now."""
        self._check_targets()

    # Keys

    def action_move(self, steps: int) -> None:
        """Move the mark, past headings."""
        self._has_moved = True
        move_highlight(self.listed, steps)

    def action_help(self) -> None:
        """Open the help."""
        self.app.push_screen(Help(self._keymap, COMMANDS, "find_models"))

    def action_close(self) -> None:
        """Close; downloads go on."""
        self.dismiss(None)
