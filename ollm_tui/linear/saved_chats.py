"""Saved chats as numbered lists: opened, named, tagged, put away, taken elsewhere and searched."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio.to_thread import run_sync

from ollm_tui.config.new_file import NameTaken
from ollm_tui.config.paths import expanded
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import ending_words, restored_words, shown_tags, shown_title
from ollm_tui.frontend.deletions import IS_OPEN, ChatDeletions
from ollm_tui.linear.answer_text import words_of
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.message_reading import moment
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.saved.chats import chat_filter
from ollm_tui.store.deletions import KEPT_DAYS
from ollm_tui.store.search.query import parse_query

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ollm_tui.exchange.importing import ImportResult
    from ollm_tui.exchange.reading import ImportFile
    from ollm_tui.runtime.saved.chats import SavedChats as ChatsOfStore
    from ollm_tui.store.rows import ConversationSummary

MAX_CHATS: Final = 200
MAX_HITS: Final = 50
_MAX_TITLE_LENGTH: Final = 200
_DAY: Final = "%-d %B %Y"
_NOT_SAVED: Final = "Chats are not saved here."
_IMPORT, _ARCHIVE = "Import chats from a file", "Archived chats"
_DELETED: Final = "Deleted chats"


class SavedChats:
    """Reads out saved chats and messages, and does what is chosen there."""

    def __init__(self, chat: LinearChat) -> None:
        self._chat = chat

    # The list

    async def list(
        self, words: str = "", *, is_archived: bool = False, is_deleted: bool = False
    ) -> None:
        """List the saved chats, the pinned ones first, to do something with one."""
        saved = self._chat.runtime.saved
        if saved is None:
            self._chat.say(_NOT_SAVED)
            return
        if words.strip().casefold() == "last":
            await self._go_to_last()
            return
        chosen, notes = chat_filter(words, is_archived=is_archived, is_deleted=is_deleted)
        for note in notes:
            self._chat.say(note, "warning")
        numbers = await saved.order(chosen, "changed")
        by_number = await saved.rows(numbers[:MAX_CHATS], is_deleted=is_deleted)
        chats = [by_number[one] for one in numbers[:MAX_CHATS] if one in by_number]
        if len(numbers) > MAX_CHATS:
            self._chat.say(
                f"The newest {MAX_CHATS} of {len(numbers):,} chats follow.",
                hint="/search WORDS finds others.",
            )
        rows = [_row(one) for one in chats]
        if not is_archived and not is_deleted:
            rows += await self._more_rows(saved)
        title = _DELETED if is_deleted else _ARCHIVE if is_archived else "Chats"
        if not chats:
            self._chat.say(f"No {title.casefold()}." if title != "Chats" else "No saved chats yet.")
        at = await self._chat.questions.choose(title, rows) if rows else None
        if at is None:
            return
        if at < len(chats):
            await self._act_on(saved, chats[at])
        elif rows[at] != _IMPORT:
            await self.list(is_archived=rows[at] == _ARCHIVE, is_deleted=rows[at] == _DELETED)
        else:
            await self.import_file("")

    async def _more_rows(self, saved: "ChatsOfStore") -> "Sequence[str]":
        has_archive = await saved.order(chat_filter("", is_archived=True)[0], "changed")
        has_deleted = await saved.order(chat_filter("", is_deleted=True)[0], "changed")
        archive, deleted = [_ARCHIVE] if has_archive else [], [_DELETED] if has_deleted else []
        return [*archive, *deleted, _IMPORT]

    async def _go_to_last(self) -> None:
        """Continue the chat of a program that ended without closing, or the newest one."""
        await self.go_to(await self._chat.last.chat_to_continue())

    async def _act_on(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        acts: dict[str, Callable[[ChatsOfStore, ConversationSummary], Awaitable[None]]] = {
            "Open": lambda _saved, one: self.go_to(one.id),
            "Rename": self._rename,
            "Unpin" if chat.is_pinned else "Pin to the top": self._pin,
            "Change tags": self._tag,
            "Return to the list" if chat.is_archived else "Archive": self._archive,
            "Export": self._export,
            "Delete": self._delete,
        }
        if chat.deleted_ms is not None:
            acts = {"Restore": self._restore}
        title = f"What to do with “{shown_title(chat.title)}”"
        at = await self._chat.questions.choose(title, list(acts))
        if at is not None:
            await list(acts.values())[at](saved, chat)

    def _is_open(self, chat: "ConversationSummary") -> bool:
        return chat.id == self._chat.runtime.chat_id(self._chat.session.client)

    async def _rename(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        typed = await self._chat.questions.line("New title: ", clean_line(chat.title))
        title = " ".join((typed or "").split())[:_MAX_TITLE_LENGTH].rstrip()
        if not title or title == chat.title:
            self._chat.say("Nothing was changed.")
            return
        if self._is_open(chat):
            await self._chat.runtime.branches.rename(self._chat.session.client, title)
        else:
            await saved.rename(chat.id, title)
        self._chat.say(f"Renamed to “{shown_title(title)}”.")

    async def _pin(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        await saved.pin(chat.id, not chat.is_pinned)
        self._chat.say("Unpinned." if chat.is_pinned else "Pinned.")

    async def _archive(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        await saved.archive(chat.id, not chat.is_archived)
        self._chat.say("Returned to the list." if chat.is_archived else "Archived.")

    async def _tag(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        used = await saved.tags()
        if used:
            self._chat.say(f"Tags in use: {', '.join(map(clean_line, sorted(used)))}.")
        typed = await self._chat.questions.line("Tags, with spaces between: ", " ".join(chat.tags))
        if typed is None:
            self._chat.say("Nothing was changed.")
            return
        await saved.tag(chat.id, typed.replace(",", " ").split())
        self._chat.say("Tags saved." if typed.strip() else "Tags removed.")

    async def _export(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        # Imported with the first export: no other chat pays for it.
        from ollm_tui.exchange.formats import FORMATS, format_of
        from ollm_tui.exchange.new_file import free_name

        title = shown_title(chat.title)
        path = await run_sync(free_name, Path(), title, FORMATS["md"].suffixes[0])
        endings = ", ".join(f".{name}" for name in FORMATS)
        typed = await self._chat.questions.line(f"File, ending in one of {endings}: ", str(path))
        if not typed or not typed.strip():
            self._chat.say("Nothing was written.")
            return
        target = expanded(Path(typed.strip()))
        form = format_of(target)
        if form is None:
            self._chat.say(f"{clean_line(target.name)} has no ending of a format.", "error")
            return
        try:
            written = await saved.export(chat.id, form, target)
        except NameTaken as taken:
            self._chat.say(taken.message, "error", "Choose another name.")
        else:
            self._chat.say(f"Saved {clean_line(str(written))}.")

    async def _delete(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        if self._is_open(chat):
            self._chat.say(IS_OPEN, "error")
        elif await self._chat.questions.is_sure("Delete this chat?"):
            await ChatDeletions(saved).delete_chat(chat.id, chat.revision)
            self._chat.say("Deleted the chat.", hint=f"/chats restores it for {KEPT_DAYS} days.")
        else:
            self._chat.say("Nothing was deleted.")

    async def _restore(self, saved: "ChatsOfStore", chat: "ConversationSummary") -> None:
        deletion = await ChatDeletions(saved).undo_chat(chat.id)
        if deletion is None:
            self._chat.say("This chat was just restored or removed.")
        else:
            self._chat.say(restored_words(deletion))

    async def import_file(self, name: str) -> None:
        """Import the chats of a file, of this program or another; Escape stops it."""
        saved = self._chat.runtime.saved
        if saved is None:
            self._chat.say(_NOT_SAVED)
            return
        typed = name or await self._chat.questions.line("File to import: ") or ""
        if not typed.strip():
            self._chat.say("Nothing was imported.")
            return
        # Imported with the first import: no other chat pays for it.
        from ollm_tui.exchange.importing import ImportResult

        result, problem = ImportResult(), ""
        path = expanded(Path(typed.strip()))
        state = doing = f"Importing {clean_line(path.name)}"
        self._chat.say(f"{doing}.", hint="Escape stops it.")

        def report(file: "ImportFile", so_far: "ImportResult") -> None:
            nonlocal state
            share = f", {100 * file.position // file.size} percent" if file.size else ""
            state = f"{doing}{share}, {counted(so_far.chats, 'chat')}"

        try:
            is_stopped = await self._chat.work.until_stopped(
                lambda: saved.import_files([path], report, result), lambda: state
            )
        except AIError as error:
            is_stopped, problem = False, str(error)
        words = ending_words(result, problem, is_stopped=is_stopped)
        self._chat.say(words, "error" if problem else "info")

    # One chat, and the messages of all

    async def go_to(self, chat_id: str, message_id: str | None = None) -> None:
        """Continue a chat, at a message of it if one is named."""
        runtime = self._chat.runtime
        was_open = chat_id == runtime.chat_id(self._chat.session.client)
        client = await runtime.open_chat(chat_id, message_id=message_id)
        await self._chat.go_to(client, is_read=message_id is None)
        if message_id is not None:
            if not was_open:
                self._chat.reading.name_chat()
            await runtime.branches.remember(client)
            position = runtime.position_of(client, message_id)
            if position is not None:
                await self._chat.reading.read([position])
        await self._chat.say_branches()

    async def search(self, text: str) -> None:
        """Search in all saved chats, and open one at a message."""
        search = self._chat.runtime.search
        if search is None:
            self._chat.say(_NOT_SAVED)
            return
        words = text or await self._chat.questions.line("Words to search for: ") or ""
        if not words.strip():
            return
        query = parse_query(words)
        for note in query.notes:
            self._chat.say(note, "warning")
        await search.update(lambda _done, _total: None)
        results = await search.search(query, limit=MAX_HITS)
        if not results.hits:
            self._chat.say("No message matches.")
            return
        rows = [
            f"{shown_title(hit.chat_title)}, {moment(hit.created_ms, _DAY) or 'no date'}, "
            f"{'you' if hit.role == 'user' else 'answer'}: {words_of(hit.snippet.text)}"
            for hit in results.hits
        ]
        chosen = await self._chat.questions.choose("Messages", rows)
        if chosen is not None:
            hit = results.hits[chosen]
            await self.go_to(hit.chat_id, hit.message_id)


def _row(chat: "ConversationSummary") -> str:
    facts: Sequence[str] = (
        shown_title(chat.title),
        "pinned" if chat.is_pinned else "",
        f"tags {shown_tags(chat.tags).replace('#', '')}" if chat.tags else "",
        moment(chat.updated_ms, _DAY) or "no date",
        counted(chat.message_count, "message"),
    )
    return ", ".join(filter(None, facts))
