"""The search in all chats: results while one types, and opening a chat at the message."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from textual import on, work
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import UNTITLED, when
from ollm_tui.frontend.notes import report_errors
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.search.words import Snippet
from ollm_tui.tui.dialogs import Dialogs, FilterList
from ollm_tui.tui.services import Say
from ollm_tui.tui.widgets import cut, fit

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.store.search.service import ChatSearch
    from ollm_tui.store.search.similar import SimilarHit

PAGE: Final = 20
"""Messages that are listed at once; more follow as the mark reaches the last ones."""
AHEAD: Final = 3
"""How many messages from the last one more are listed."""
AGAIN_S: Final = 1.0
"""How often the search is repeated while the index is being made."""
TYPED_S: Final = 0.3
"""How long the text stays as it is before similar messages are searched."""
MIN_TITLE_WIDTH: Final = 16
_MAX_LENGTH: Final = 500
_SIMILAR: Final = "Similar messages"
_ASKER: Final = "you"
_HELP: Final = (
    '"exact words" · begin* · role:user · model:NAME · tag:NAME · after:2026-03-31 · before:'
)
_SIMILAR_IS_OFF: Final = "Similar messages too: similar = true below [search] in the settings"


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
    writer = clean_name((ref.model if ref else hit.role)[:_MAX_LENGTH])
    facts = [
        when(hit.created_ms, now_ms).rjust(11),
        fit(_ASKER if hit.role == "user" else writer, 16),
    ]
    while facts and width - sum(len(fact) + 2 for fact in facts) < MIN_TITLE_WIDTH:
        facts.pop()
    room = max(0, width - sum(len(fact) + 2 for fact in facts))
    title = clean_line(hit.chat_title[:_MAX_LENGTH]).strip() or UNTITLED
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
        self._similar: Sequence[SimilarHit] = ()
        self._similar_notice: str | None = None
        self._searched: str | None = None
        self._answered: str | None = None
        """The text that the listed results are for."""
        self._opens: str | None = None
        """The text whose first result is opened as soon as it is there."""
        self._listed: tuple[int, Sequence[SearchHit], Sequence[SimilarHit]] | None = None
        self._has_more = False
        self._has_count = False
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
        """List the results, or search if the text has changed: then they are listed afterwards."""
        if self.query_text != self._searched:
            self._searched = self.query_text
            self._look(self.query_text)
            self._look_for_similar(self.query_text)
            return
        self._say()
        rows = (self.row_width, self._hits, self._similar)
        if rows != self._listed:  # a list takes longer to paint than its messages to search
            self._listed = rows
            self.fill([*self._rows(self._hits), *self._similar_rows()], mark=mark)

    def _say(self) -> None:
        parts = (self._similar_notice, self._about, self._count() if self._has_count else "")
        self.say("\n".join(part for part in parts if part))

    def _rows(self, hits: Sequence[SearchHit]) -> list[Option]:
        now_ms, width = self._now_ms(), self.row_width
        return [Option(hit_content(hit, width, now_ms), id=hit.message_id) for hit in hits]

    def _similar_rows(self) -> list[Option]:
        shown = {hit.message_id for hit in self._hits}
        similar = [one.hit for one in self._similar if one.hit.message_id not in shown]
        heading = Option(Content.styled(_SIMILAR, "bold $text-accent"), disabled=True)
        return [heading, *self._rows(similar)] if similar else []

    @on(OptionList.OptionHighlighted)
    def _near_the_end(self, event: OptionList.OptionHighlighted) -> None:
        place = event.option_index
        if self._has_more and len(self._hits) - AHEAD <= place < len(self._hits):
            self._look_further(self.query_text, self._hits)

    @work(exclusive=True, group="search")
    async def _look_further(self, text: str, listed: Sequence[SearchHit]) -> None:
        query = parse_query(text, is_typing=True)
        try:
            results = await self._search.search(query, limit=PAGE, before=listed[-1].number)
        except AIError as error:
            self._about = clean_line(str(error))
            self._say()
            return
        self._hits, self._has_more = (*listed, *results.hits), len(results.hits) == PAGE
        self._append(len(listed))

    def _append(self, start: int) -> None:
        """List the results from `start` on, behind those that are listed."""
        if not self.has_its_parts:
            return
        rows, mark = self.query_one(OptionList), self.marked
        with self.app.batch_update():
            for place in reversed(range(start, rows.option_count)):
                rows.remove_option_at_index(place)
            rows.add_options([*self._rows(self._hits[start:]), *self._similar_rows()])
            if mark is not None and self.marked != mark:
                rows.highlighted = rows.get_option_index(mark)
        self._listed = (self.row_width, self._hits, self._similar)
        self._say()

    def _look_again(self) -> None:
        if self._is_waiting:
            self._look(self.query_text)

    _is_waiting = False
    """Whether the index is still being made."""

    @work(exclusive=True, group="search")
    async def _look(self, text: str) -> None:
        query = parse_query(text, is_typing=True)
        self._has_more, self._has_count = False, not query.is_empty
        try:
            results = await self._search.search(query, limit=PAGE)
        except AIError as error:
            self._hits, self._about, self._has_count = (), clean_line(str(error)), False
        else:
            self._hits, self._is_waiting = results.hits, not results.is_complete
            self._has_more = len(self._hits) == PAGE
            parts = [*query.notes, results.notice or ""]
            if self._is_waiting:
                parts.append(f"Indexing: {results.progress:.0%}.")
            if query.is_empty:
                parts += [_HELP, *self._hint(), "Esc close"]
            self._about = "\n".join(part for part in parts if part)
        self._answered = text
        self.show_rows(self.marked)
        if self._opens == text:
            self.choose_marked()

    def choose_marked(self) -> None:
        """Choose the marked result of what was typed, also if it is still being searched."""
        if self._answered == self.query_text:
            super().choose_marked()
        else:
            self._opens = self.query_text

    def _count(self) -> str:
        listed = len(self._hits)
        if not listed:
            open_key = " · Enter open" if self._similar else ""
            return f"No message matches{open_key} · Esc close"
        count = f"{listed}+ messages" if self._has_more else counted(listed, "message")
        return f"{count} · Enter open · Esc close"

    def _hint(self) -> list[str]:
        similar = self._search.similar
        return [_SIMILAR_IS_OFF] if similar is not None and not similar.is_on else []

    @work(exclusive=True, group="similar")
    async def _look_for_similar(self, text: str) -> None:
        similar = self._search.similar
        if similar is None or not similar.is_on:
            return
        await anyio.sleep(TYPED_S)
        shown = [hit.message_id for hit in self._hits]
        try:
            results = await similar.search(parse_query(text), without=shown)
        except AIError as error:
            self._similar, self._similar_notice = (
                (),
                clean_line(f"No similar messages: {error}"),
            )
        else:
            self._similar, self._similar_notice = results.hits, results.notice
        self.show_rows(self.marked)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        hits = (*self._hits, *(one.hit for one in self._similar))
        hit = next((hit for hit in hits if hit.message_id == event.option_id), None)
        if hit is not None:
            self.dismiss(hit)


@dataclass(slots=True)
class ChatSearchController:
    """Opens the search in all chats, and the chat that is chosen there."""

    runtime: "Runtime"
    dialogs: Dialogs
    say: Say
    open_chat: Callable[[str, str], Awaitable[None]]
    is_answering: Callable[[], bool]

    def start(self) -> None:
        """Have the chats indexed in the background from now on."""
        self.dialogs.run(self._start(), "index")

    async def _start(self) -> None:
        # Made in a thread: it imports what nothing else needs.
        search = await anyio.to_thread.run_sync(self._open_search)
        if search is None:
            return
        search.start()
        if search.similar is not None and search.similar.is_on:
            await search.similar.keep_up(self.is_answering)

    def _open_search(self) -> "ChatSearch | None":
        # Imported behind the first screen, which does not need it.
        from ollm_tui.runtime.media.similar import similar_search

        search = self.runtime.search
        if search is not None and search.similar is None:
            search.similar = similar_search(self.runtime)
        return search

    def show(self, text: str = "") -> None:
        """Open the search, with words to begin with."""
        search = self.runtime.search
        if search is None:
            self.say("Chats are not saved here.")
        else:
            self.dialogs.open(SearchChats(search, text), self._chosen)

    def _chosen(self, hit: SearchHit | None) -> None:
        if hit is not None:
            opening = report_errors(self._open(hit), self.say)
            self.dialogs.run(opening, "open", is_exclusive=True)

    async def _open(self, hit: SearchHit) -> None:
        await self.open_chat(hit.chat_id, hit.message_id)
