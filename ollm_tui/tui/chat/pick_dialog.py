"""Open a saved chat, or delete one."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.dialogs import FilterList
from ollm_tui.tui.widgets import cut, fit

if TYPE_CHECKING:
    from ollm_tui.store.conversations import ConversationStore

UNTITLED = "Empty chat"
LEAST_TITLE = 24
"""Cells that a title keeps before a column goes."""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONGEST = 500


def title_of(chat: ConversationSummary) -> str:
    """Return the title of a chat for people."""
    return clean_line(chat.title[:_LONGEST]).strip() or UNTITLED


def matching(chats: Sequence[ConversationSummary], query: str) -> list[ConversationSummary]:
    """Return the chats with every word of the query in title or model, in the same order."""
    words = query.casefold().split()
    return [
        chat
        for chat in chats
        if all(word in f"{chat.title} {chat.model or ''}".casefold() for word in words)
    ]


def when(updated_ms: int, now_ms: int, zone: tzinfo | None = None) -> str:
    """Write a time as near as it matters: `09:14`, `yesterday`, `Tue`, `3 Nov`, `3 Nov 2025`."""
    try:
        then = datetime.fromtimestamp(updated_ms / 1000, zone)
    except (OSError, OverflowError, ValueError):
        return ""
    now = datetime.fromtimestamp(now_ms / 1000, zone)
    days = (now.date() - then.date()).days
    if days == 0:
        return f"{then:%H:%M}"
    if days == 1:
        return "yesterday"
    if 1 < days < 7:
        return _DAYS[then.weekday()]
    date = f"{then.day} {_MONTHS[then.month - 1]}"
    return date if then.year == now.year else f"{date} {then.year}"


def row_content(chat: ConversationSummary, width: int, now_ms: int, *, is_open: bool) -> Content:
    """Write one row in `width` cells; what does not fit is left out from the right."""
    ref = ModelRef.parse(chat.model or "")
    model = clean_name((ref.model if ref else chat.model or "")[:_LONGEST])
    count = counted(chat.message_count, "message")
    facts = [when(chat.updated_ms, now_ms).rjust(11), count.rjust(12), fit(model, 22)]
    room = width - 2
    while facts and room - sum(len(fact) + 2 for fact in facts) < LEAST_TITLE:
        facts.pop()
    room -= sum(len(fact) + 2 for fact in facts)
    return Content.assemble(
        ("● " if is_open else "  ", "$text-success"),
        fit(cut(title_of(chat), room), max(0, room)),
        ("".join(f"  {fact}" for fact in facts), "$text-muted"),
    )


def count_of_all(chat: ConversationSummary) -> str:
    """Write how many messages a chat has, and say so if that is more than the shown branch."""
    branches = " on all branches" if chat.total_messages > chat.message_count else ""
    return counted(chat.total_messages, "message") + branches


PAGE = 100
MOST = 2000
"""Chats that are listed; older ones are found when newer ones are gone."""
PASTE_GUARD_S = 0.05
_MARK: Final = " · ● this one"


class PickChat(FilterList[str | None]):
    """Gives the id of the chat to open.

    Deleting asks first, and while it asks every key but `y` keeps the chat.
    """

    HEADING = "Chats"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d,delete", "ask_to_delete", "Delete", show=False, priority=True)
    ]
    DEFAULT_CSS = """
    PickChat > Vertical { width: 96; }
    """

    def __init__(
        self,
        chats: "ConversationStore",
        current: str | None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        super().__init__()
        self._chats = chats
        self._current = current
        self._now_ms = now_ms
        self._listed: list[ConversationSummary] = []
        self._to_delete: ConversationSummary | None = None
        self._pasted_at = float("-inf")
        self._notice = "Loading chats…"
        """Shown until the list itself says something."""

    def on_mount(self) -> None:
        """Read the chats."""
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        self._notice = await self._list_again()
        self.show_rows(self.marked)

    async def _list_again(self) -> str:
        """Read the list; returns why it could not be read, or an empty text."""
        problem = ""
        chats: list[ConversationSummary] = []
        try:
            while len(chats) < MOST:
                page = await self._chats.list(limit=PAGE, offset=len(chats))
                chats += page
                if len(page) < PAGE:
                    break
        except AIError as error:
            problem = clean_line(str(error))
        self._listed = chats
        return problem

    def show_rows(self, mark: str | None = None) -> None:
        """List the chats that match."""
        now_ms = self._now_ms()
        kept = matching(self._listed, self.query_text)
        options = [
            Option(
                row_content(chat, self.row_width, now_ms, is_open=chat.id == self._current),
                id=chat.id,
            )
            for chat in kept
        ]
        self.fill(options, mark=mark)
        if self._to_delete is None:
            self.say(self._about(len(kept)))

    def _about(self, shown: int) -> str:
        if self._notice:
            return self._notice
        if not self._listed:
            return "No saved chats yet. Esc close"
        if not shown:
            return f"No chat matches {self.query_text!r}."
        keys = "Enter open · Ctrl+D delete · Esc close"
        is_listed = any(chat.id == self._current for chat in self._listed)
        fits = self.row_width >= len(keys) + len(_MARK)
        return keys + _MARK if is_listed and fits else keys

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if self._to_delete is None and event.option_id is not None:
            self.dismiss(event.option_id)

    # Deleting

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a question is open, only its answer counts."""
        return self._to_delete is None

    def action_ask_to_delete(self) -> None:
        """Ask whether to delete the marked chat."""
        chat = next((one for one in self._listed if one.id == self.marked), None)
        if chat is None:
            return
        if chat.id == self._current:
            self.say("This chat is open. Start another one, then delete it.")
            return
        self._to_delete = chat
        self.set_focus(None)
        self.say(
            f"Delete “{title_of(chat)}” ({count_of_all(chat)}) permanently?\n"
            "y delete · any other key keeps it"
        )

    def on_key(self, event: events.Key) -> None:
        """Take the answer to the question, if one is open."""
        chat = self._to_delete
        if chat is None:
            return
        event.stop()
        event.prevent_default()
        self._to_delete = None
        self.set_focus(self.query_one(Input))
        if event.character == "y" and event.time - self._pasted_at >= PASTE_GUARD_S:
            self._delete(chat)
        else:
            self.show_rows(chat.id)

    def on_paste(self, event: events.Paste) -> None:
        """Ignore a paste while a question is open."""
        self._pasted_at = event.time

    @work(group="delete")
    async def _delete(self, chat: ConversationSummary) -> None:
        row = (self.query_one(OptionList).highlighted or 0) if self.has_its_parts else 0
        try:
            await self._chats.delete(chat.id, chat.revision)
        except AIError as error:
            self._notice = clean_line(str(error))
            if error.details.get("reason") == "changed":
                self._notice = await self._list_again() or self._notice
        else:
            self._notice = ""
            self._listed = [one for one in self._listed if one.id != chat.id]
        kept = matching(self._listed, self.query_text)
        self.show_rows(kept[min(row, len(kept) - 1)].id if kept else None)
