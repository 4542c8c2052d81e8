"""The search in all chats: results while one types, and opening a chat at the message."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from textual import on, work
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.search.words import Snippet
from ollm_tui.tui.chat.pick_dialog import UNTITLED, when
from ollm_tui.tui.dialogs import Dialogs, FilterList
from ollm_tui.tui.services import Say, reported
from ollm_tui.tui.widgets import cut, fit

if TYPE_CHECKING:
    from ollm_tui.store.search.service import ChatSearch
    from ollm_tui.tui.chat.session import ChatSession

MOST: Final = 50
"""Messages that are listed."""
AGAIN_S: Final = 1.0
"""How often the search is repeated while the index is being made."""
LEAST_TITLE: Final = 16
_LONGEST: Final = 500
_ASKER: Final = "you"
_HELP: Final = '"exact words" · begin* · role:user · model:NAME · after:2026-03 · before:2026-03-31'


def snippet_content(snippet: Snippet) -> Content:
    """Write a part of a message with its matches highlighted."""
    parts: list[str | tuple[str, str]] = []
    at = 0
    for start, end in snippet.marks:
        parts.append(clean_line(snippet.text[at:start]))
        parts.append((clean_line(snippet.text[start:end]), "bold $text-warning"))
        at = end
    return Content.assemble(*parts, clean_line(snippet.text[at:]))


def hit_content(hit: SearchHit, width: int, now_ms: int) -> Content:
    """Write a result in two lines of `width` cells."""
    ref = ModelRef.parse(hit.model or "")
    writer = clean_name((ref.model if ref else hit.role)[:_LONGEST])
    facts = [
        when(hit.created_ms, now_ms).rjust(11),
        fit(_ASKER if hit.role == "user" else writer, 16),
    ]
    while facts and width - sum(len(fact) + 2 for fact in facts) < LEAST_TITLE:
        facts.pop()
    room = max(0, width - sum(len(fact) + 2 for fact in facts))
    title = clean_line(hit.chat_title[:_LONGEST]).strip() or UNTITLED
    return Content.assemble(
        fit(cut(title, room), room),
        ("".join(f"  {fact}" for fact in facts), "$text-muted"),
        "\n  ",
        snippet_content(hit.snippet).truncate(max(1, width - 2), ellipsis=True),
    )


class SearchChats(FilterList[SearchHit | None]):
    """Gives the message to go to."""

    HEADING = "Search in all chats"
    PLACEHOLDER = "Type words that a message has"
    DEFAULT_CSS = """
    SearchChats > Vertical { width: 110; height: 34; }
    """

    def __init__(
        self,
        search: "ChatSearch",
        text: str = "",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        super().__init__()
        self._search = search
        self._text = text
        self._now_ms = now_ms
        self._hits: Sequence[SearchHit] = ()
        self._searched: str | None = None
        self._about = ""

    def on_mount(self) -> None:
        """Take what was typed behind the command, and have the index brought up to date."""
        self._search.start()
        field = self.query_one(Input)
        field.value = self._text
        field.cursor_position = len(self._text)
        self.set_interval(AGAIN_S, self._look_again)
        self.show_rows()

    def show_rows(self, mark: str | None = None) -> None:
        """List the results, and search if the text has changed."""
        now_ms = self._now_ms()
        rows = [
            Option(hit_content(hit, self.row_width, now_ms), id=hit.message_id)
            for hit in self._hits
        ]
        self.fill(rows, mark=mark)
        self.say(self._about)
        if self.query_text != self._searched:
            self._searched = self.query_text
            self._look(self.query_text)

    def _look_again(self) -> None:
        if self._is_waiting:
            self._look(self.query_text)

    _is_waiting = False
    """Whether the index is still being made."""

    @work(exclusive=True, group="search")
    async def _look(self, text: str) -> None:
        query = parse_query(text, is_typing=True)
        try:
            results = await self._search.search(query, limit=MOST)
        except AIError as error:
            self._hits, self._about = (), clean_line(str(error))
        else:
            self._hits, self._is_waiting = results.hits, not results.is_complete
            count = f"{MOST}+ messages" if len(self._hits) == MOST else _count(len(self._hits))
            parts = [*query.notes, results.notice or ""]
            if self._is_waiting:
                parts.append(f"Indexing: {results.progress:.0%}.")
            if query.is_empty:
                parts.append(f"{_HELP}\nEsc close")
            else:
                keys = " · Enter open" if self._hits else ""
                parts.append(f"{count}{keys} · Esc close")
            self._about = "\n".join(part for part in parts if part)
        self.show_rows(self.marked)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        hit = next((hit for hit in self._hits if hit.message_id == event.option_id), None)
        if hit is not None:
            self.dismiss(hit)


def _count(hits: int) -> str:
    return counted(hits, "message") if hits else "No message matches"


@dataclass(slots=True)
class ChatSearching:
    """Opens the search in all chats, and the chat that is chosen there."""

    session: "ChatSession"
    dialogs: Dialogs
    say: Say
    open_chat: Callable[[str, str], Awaitable[None]]

    def start(self) -> None:
        """Have the chats indexed in the background from now on."""
        self.dialogs.run(self._start(), "index")

    async def _start(self) -> None:
        # Made in a thread: it imports what nothing else needs.
        search = await anyio.to_thread.run_sync(lambda: self.session.runtime.search)
        if search is not None:
            search.start()

    def show(self, text: str = "") -> None:
        """Open the search, with words to begin with."""
        search = self.session.runtime.search
        if search is None:
            self.say("Chats are not saved here.")
        else:
            self.dialogs.open(SearchChats(search, text), self._chosen)

    def _chosen(self, hit: SearchHit | None) -> None:
        if hit is not None:
            opening = reported(self._open(hit), self.say)
            self.dialogs.run(opening, "open", is_exclusive=True)

    async def _open(self, hit: SearchHit) -> None:
        await self.open_chat(hit.chat_id, hit.message_id)
