"""Open a saved chat, or delete one."""

import time
from collections.abc import Callable
from typing import ClassVar, Final

from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.capabilities import ChatSummary, SavedChats
from ollm_tui.tui.chat.pick_rows import count_of_all, matching, row_content, title_of
from ollm_tui.tui.dialogs.filter_list import FilterList

PAGE = 100
MOST = 2000
"""Chats that are listed; older ones are found when newer ones are gone."""
PASTE_GUARD_S = 0.05
_MARK: Final = " · ● this one"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class PickChat(FilterList[str | None]):
    """Gives the id of the chat to open.

    Deleting asks first, and while it asks every key but `y` keeps the chat.
    """

    HEADING = "Chats"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d,delete", "ask_to_delete", "Delete", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    PickChat > Vertical { width: 96; }
    """

    def __init__(
        self, chats: SavedChats, current: str | None, now_ms: Callable[[], int] = _now_ms
    ) -> None:
        super().__init__()
        self._chats = chats
        self._current = current
        self._now_ms = now_ms
        self._listed: list[ChatSummary] = []
        self._doomed: ChatSummary | None = None
        self._pasted_at = float("-inf")
        self._word = "Loading chats…"
        """What is said until there is something to say about the list itself."""

    def on_mount(self) -> None:
        """Read the chats."""
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        self._word = await self._list_again()
        self._show(mark=self.marked)

    async def _list_again(self) -> str:
        """Read the list; gives why it could not be read, or nothing."""
        word = ""
        found: list[ChatSummary] = []
        try:
            while len(found) < MOST:
                page = await self._chats.list(limit=PAGE, offset=len(found))
                found += page
                if len(page) < PAGE:
                    break
        except AIError as error:
            word = clean_line(str(error))
        self._listed = found
        return word

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show()

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(lambda: self._show(mark=self.marked))

    def _show(self, mark: str | None = None) -> None:
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
        if self._doomed is None:
            self.say(self._about(len(kept)))

    def _about(self, shown: int) -> str:
        if self._word:
            return self._word
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
        if self._doomed is None and event.option_id is not None:
            self.dismiss(event.option_id)

    # Deleting

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a question is open its answer is all that counts."""
        return self._doomed is None

    def action_ask_to_delete(self) -> None:
        """Ask whether the marked chat shall go."""
        chat = next((one for one in self._listed if one.id == self.marked), None)
        if chat is None:
            return
        if chat.id == self._current:
            self.say("This chat is open. Start another one, then delete it.")
            return
        self._doomed = chat
        self.set_focus(None)
        self.say(
            f"Delete “{title_of(chat)}” ({count_of_all(chat)}) permanently?\n"
            "y delete · any other key keeps it"
        )

    def on_key(self, event: events.Key) -> None:
        """Take the answer to the question, if one is open."""
        chat = self._doomed
        if chat is None:
            return
        event.stop()
        event.prevent_default()
        self._doomed = None
        self.set_focus(self.query_one(Input))
        if event.character == "y" and event.time - self._pasted_at >= PASTE_GUARD_S:
            self._delete(chat)
        else:
            self._show(mark=chat.id)

    def on_paste(self, event: events.Paste) -> None:
        """A paste answers nothing."""
        self._pasted_at = event.time

    @work(group="delete")
    async def _delete(self, chat: ChatSummary) -> None:
        place = (self.query_one(OptionList).highlighted or 0) if self.has_its_parts else 0
        try:
            await self._chats.delete(chat.id, chat.revision)
        except AIError as error:
            self._word = clean_line(str(error))
            if error.details.get("reason") == "changed":
                self._word = await self._list_again() or self._word
        else:
            self._word = ""
            self._listed = [one for one in self._listed if one.id != chat.id]
        kept = matching(self._listed, self.query_text)
        self._show(mark=kept[min(place, len(kept) - 1)].id if kept else None)
