"""The chats screen: every saved chat, found by typing, opened and put in order."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.commands import COMMANDS
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.saved.chats import chat_filter
from ollm_tui.store.deletions import KEPT_DAYS
from ollm_tui.store.listing import ChatPreview
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.chats.actions import IS_DELETED, IS_GONE_SOON, ChatActions
from ollm_tui.tui.chats.columns import ChatOrder, ChatView
from ollm_tui.tui.chats.importing import ChatImport
from ollm_tui.tui.chats.preview import PreviewPane
from ollm_tui.tui.chats.table import ChatTable
from ollm_tui.tui.dialogs import MAX_FILTER_LENGTH, DialogOpener, Help, LeftOnce
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine, KeyLine, TextField

if TYPE_CHECKING:
    from ollm_tui.runtime.saved.chats import SavedChats

LOW: Final = 20
WIDE: Final = 120
"""From so many cells on the marked chat is shown beside the list."""
PLACEHOLDER: Final = "Filter by title, tag or model; also tag:work model:qwen after:2026-03"
_VIEWS: Final[Mapping[ChatView, ChatView]] = MappingProxyType(
    {"chats": "archive", "archive": "deleted", "deleted": "chats"}
)
"""Which list follows which."""
_TITLES: Final[Mapping[ChatView, str]] = MappingProxyType(
    {"chats": "Chats", "archive": "Archived chats", "deleted": "Deleted chats"}
)
_WHY_EMPTY: Final[Mapping[ChatView, str]] = MappingProxyType(
    {
        "chats": "No saved chats yet.",
        "archive": "The archive is empty.",
        "deleted": f"No deleted chats. A chat that you delete is listed here for {KEPT_DAYS} days.",
    }
)


@dataclass(frozen=True, slots=True)
class ShownChat:
    """The open chat: its id, if it is saved, and its model as people see it."""

    id: str | None = None
    model: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True)
class ChatsResult:
    """What the user left the chats screen for."""

    chat_id: str | None = None
    """The chat to open."""
    words: str | None = None
    """What to search for in the messages of all chats."""


class ChatsScreen(LeftOnce[ChatsResult | None]):
    """Lists the saved chats; returns the one to open."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("chats")]
    DEFAULT_CSS = """
    ChatsScreen {
        & > #filter { height: 1; padding: 0 1; }
        #filter > Input, #filter > Input:focus {
            width: 1fr; height: 1; border: none; background: $panel; padding: 0 1;
        }
        #count { width: auto; height: 1; padding: 0 1 0 2; color: $text-muted; }
        & > #list { height: 1fr; margin: 1 0 0 0; }
        #list > ChatTable { width: 3fr; }
        #empty { display: none; width: 3fr; height: 1fr; padding: 1 3; color: $text-muted; }
        PreviewPane { display: none; }
        &.-wide PreviewPane { display: block; }
        &.-empty ChatTable, &.-empty PreviewPane { display: none; }
        &.-empty #empty { display: block; }
        &.-low > #list { margin: 0; }
        &:ansi #count, &:ansi #empty { text-style: dim; }
    }
    """
    table = getters.query_one(ChatTable)
    filter = getters.query_one("#filter > Input", Input)
    hints = getters.query_one(HintLine)

    def __init__(
        self,
        chats: "SavedChats",
        shown: ShownChat,
        rename: Callable[[str, str], Awaitable[None]],
        importing: ChatImport,
        keymap: Keymap,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW, "-high")]
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
        self.keymap = keymap
        self._chats = chats
        self._shown = shown
        self._importing = importing
        self._now_ms = now_ms
        self._actions = ChatActions(chats, DialogOpener(self), rename, shown.id)
        self._order = ChatOrder()
        self._view: ChatView = "chats"
        self._listed: tuple[str, ChatView, ChatOrder] | None = None
        """What the list that is shown was asked for."""

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Chats", self._shown.model, self._shown.provider)
        with Horizontal(id="filter"):
            yield TextField(placeholder=PLACEHOLDER, max_length=MAX_FILTER_LENGTH, compact=True)
            yield Static("", id="count", markup=False)
        with Horizontal(id="list"):
            yield ChatTable(self._shown.id)
            yield Static("", id="empty", markup=False)
            yield PreviewPane()
        yield HintLine()
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the list."""
        self._importing.watch = self._import_changed
        self.hints.stand(self._importing.line)
        self._show_keys()
        self._list()

    def on_unmount(self) -> None:
        """Leave an import that is in progress to the chat."""
        self._importing.watch = None

    # The list

    @work(exclusive=True, group="list")
    async def _list(self, mark: int | None = None) -> None:
        await self._list_now(mark)

    @property
    def _wanted(self) -> tuple[str, ChatView, ChatOrder]:
        return self.filter.value, self._view, self._order

    @property
    def _lists_deleted(self) -> bool:
        return self._listed is not None and self._listed[1] == "deleted"

    async def _list_now(self, mark: int | None = None) -> None:
        wanted = text, view, order = self._wanted
        chosen, notes = chat_filter(
            text, is_archived=view == "archive", is_deleted=view == "deleted"
        )
        try:
            numbers = await self._chats.order(chosen, order.sort, is_turned=order.is_turned)
        except AIError as error:
            self._show_empty(str(error))
            self._listed = wanted
            self.table.show((), order)
            return
        if not self.is_attached or wanted != self._wanted:
            return  # what is wanted now is on its way
        self._listed = wanted
        self.table.now_ms = self._now_ms()
        self.query_one("#count", Static).update(Content(counted(len(numbers), "chat")))
        self._show_empty("" if len(numbers) else self._why_empty())
        self.table.show(numbers, order, mark, is_deleted=self._lists_deleted)
        if notes:
            self.hints.flash(clean_line(notes[0]), FLASH_S)

    async def _marked(self) -> ConversationSummary | None:
        """Return the marked chat of what is wanted now, not of what was listed before.

        A key that follows the text of a filter at once comes before the store has answered.
        """
        while self._listed != self._wanted and self.is_attached:
            await self._list_now()
        number = self.table.marked_number
        if number is not None and self.table.marked is None:
            await self._read_now([number])
        return self.table.marked

    def _show_empty(self, text: str) -> None:
        self.set_class(bool(text), "-empty")
        self.query_one("#empty", Static).update(Content(clean_line(text)))

    def _why_empty(self) -> str:
        if self.filter.value.strip():
            key = self.keymap.key_for("chats.search")
            return f"No chat matches. {key} searches in the messages of all chats."
        return _WHY_EMPTY[self._view]

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._list()

    @on(ChatTable.RowsWanted)
    def _rows_wanted(self, event: ChatTable.RowsWanted) -> None:
        self._read_rows(event.numbers)

    @work(group="rows")
    async def _read_rows(self, numbers: Sequence[int]) -> None:
        await self._read_now(numbers)

    async def _read_now(self, numbers: Sequence[int]) -> None:
        try:
            rows = await self._chats.rows(numbers, is_deleted=self._lists_deleted)
        except AIError as error:
            self._say(str(error))
            return
        if self.is_attached:
            self.table.add_rows(rows, numbers)

    @on(ChatTable.Marked)
    def _mark_moved(self) -> None:
        self._show_keys()
        self._preview(self.table.marked)

    def on_resize(self) -> None:
        """Show the marked chat if there is room for it now."""
        self.call_after_refresh(lambda: self._preview(self.table.marked))

    @work(exclusive=True, group="preview")
    async def _preview(self, chat: ConversationSummary | None) -> None:
        pane = self.query_one(PreviewPane)
        if chat is None or not self.has_class("-wide"):
            pane.show(None, ChatPreview(), 0)
            return
        try:
            is_deleted = chat.deleted_ms is not None
            preview = await self._chats.preview(chat.id, is_deleted=is_deleted)
        except AIError:  # the list itself says why
            return
        pane.show(chat, preview, self._now_ms())

    def _show_keys(self) -> None:
        names = ["search", "back", "view", "import", "help"]
        if self._lists_deleted and self.table.marked is not None:
            names = ["undelete", "search", "back", "view", "sort", "help"]
        elif self.table.marked is not None:
            first = ["open", "menu", "search", "back", "tag", "pin", "rename", "archive", "delete"]
            names = [*first, "view", "sort", "export", "import", "help"]
        self.query_one(KeyLine).show(self.keymap.hints_of(*(f"chats.{one}" for one in names)))

    def _say(self, words: str) -> None:
        if self.is_attached:
            self.hints.flash(clean_line(words), 2 * FLASH_S)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave a key that restores to the filter while words stand there."""
        if action == "change" and parameters == ("undelete",):
            is_meant = self._actions.was_deleted or self._view == "deleted"
            return is_meant or not self.filter.value
        return super().check_action(action, parameters)

    @on(Input.Submitted)
    @on(ChatTable.Chosen)
    @work(exclusive=True, group="ask")
    async def action_open(self) -> None:
        """Open the marked chat; a deleted one is restored."""
        await self._open()

    async def _open(self) -> None:
        chat = await self._marked()
        if chat is not None and chat.deleted_ms is not None:
            await self._change("undelete")
        elif chat is not None and self.is_attached:
            self.dismiss(ChatsResult(chat_id=chat.id))

    def action_search(self) -> None:
        """Search in the messages of all chats."""
        self.dismiss(ChatsResult(words=self.filter.value))

    @work(exclusive=True, group="ask")
    async def action_menu(self) -> None:
        """List all actions for the marked chat."""
        if (chat := await self._marked()) is None:
            return
        name = await self._actions.menu(chat, self.keymap.key_for)
        if name == "open":
            await self._open()
        elif name is not None:
            await self._change(name)

    @work(exclusive=True, group="ask")
    async def action_change(self, name: str) -> None:
        """Change the marked chat, or restore one."""
        await self._change(name)

    async def _change(self, name: str) -> None:
        actions = self._actions
        acts = {
            "rename": actions.rename,
            "pin": actions.pin,
            "tag": actions.tag,
            "archive": actions.archive,
            "delete": actions.delete,
            "export": actions.export,
        }
        try:
            if name == "undelete" and self._view != "deleted":
                words = await actions.undelete()
            elif (chat := await self._marked()) is None:
                return
            elif name == "undelete":
                words = await actions.undelete(chat)
            elif chat.deleted_ms is not None:
                words = IS_GONE_SOON if name == "delete" else IS_DELETED
            else:
                words = await acts[name](chat)
        except AIError as error:
            words = str(error)
        if words is None or not self.is_attached:
            return
        if name == "delete" and actions.was_deleted and words.startswith("Deleted"):
            words += f" {self.keymap.key_for('chats.undelete')} restores it."
        self._say(words)
        await self._list_now(self.table.marked_number)

    @work(exclusive=True, group="ask")
    async def action_import(self) -> None:
        """Import chats, or stop the import that is in progress."""
        await self._importing.ask(DialogOpener(self))

    def _import_changed(self, line: str, has_ended: bool) -> None:
        if not self.query(HintLine):
            return  # the screen is closing
        if has_ended:
            self.hints.stand(line)
            self._list(self.table.marked_number)
        else:
            key = self.keymap.key_for("chats.import")
            self.hints.stand(f"{line} · {key} stops")

    def action_view(self) -> None:
        """Show the next list: the chats, the archive, the deleted ones."""
        self._view = _VIEWS[self._view]
        self.query_one(ChatHeader).show_title(_TITLES[self._view])
        self._list()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort(self._order.next(self.table.columns))

    def action_reverse(self) -> None:
        """Reverse the sort order."""
        self._sort(self._order.turned)

    @on(ChatTable.HeadClicked)
    def _head_clicked(self, event: ChatTable.HeadClicked) -> None:
        sort = event.column.sort
        if sort is not None:
            self._sort(self._order.turned if sort == self._order.sort else ChatOrder(sort))

    def _sort(self, order: ChatOrder) -> None:
        self._order = order
        self._list()

    def action_move(self, steps: int) -> None:
        """Move the mark."""
        self.table.move(steps)

    def action_page(self, pages: int) -> None:
        """Move the mark by pages."""
        self.table.move_page(pages)

    def action_edge(self, way: int) -> None:
        """Mark the first or the last chat."""
        self.table.move(way * 10**9)

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(Help(self.keymap, COMMANDS, "chats"))

    def action_back(self) -> None:
        """Return to the chat."""
        self.dismiss(None)

    def action_clear(self) -> None:
        """Clear the filter, or return to the chat if it is empty."""
        if self.filter.value:
            self.filter.value = ""
        else:
            self.dismiss(None)
