"""`ConversationStore`: saved chats, to begin, list, load, rename and delete.

Several programs may use the same file: a list or a chat is read in one transaction, and an answer
that one left unfinished is `interrupted` for the next one that opens the file.
"""

import builtins
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio

from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store import statements
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.branches import Branch, ChatNews, ChatWatch, branches
from ollm_tui.store.database import Database
from ollm_tui.store.deletions import Deletion, Deletions, purge_in_background
from ollm_tui.store.files import Instances
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.listing import ChatListing
from ollm_tui.store.marks import Marks
from ollm_tui.store.migrate import Migration
from ollm_tui.store.purging import changes_folder, states_folder
from ollm_tui.store.records import Records
from ollm_tui.store.rows import (
    ConversationSummary,
    Deleted,
    HasSettings,
    MessageRow,
    StoredConversation,
    column,
    new_id,
)
from ollm_tui.store.tree import Trees

logger = logging.getLogger(__name__)

FILE_NAME = "chats.db"
CLOSING_S = 3.0
_ALL = 1_000_000


def now_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class ConversationStore:
    """The chats of one file; made by `open_store`."""

    def __init__(
        self, database: Database, backlog: Backlog, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._database = database
        self._backlog = backlog
        self._clock_ms = clock_ms
        self.records = Records(database, self._save_first)
        """Whole chats, for exports and imports."""
        self.deletions = Deletions(database, backlog, self._save_first, clock_ms)
        """What was deleted and can be restored."""
        self.marks = Marks(database, self._save_first)
        """Marks of messages, and when they were written."""
        self.trees = Trees(database, self._save_first, clock_ms)
        """Forks of chats, and the branch that is shown."""
        self.changes_dir = changes_folder(database.path)
        """Where it is kept what tools changed in the chats, a folder for each."""
        self.states_dir = states_folder(database.path)
        """Where engines keep what they have read of the chats, a folder for each."""
        self.listing = ChatListing(database, self._save_first)
        """The chats in any order, and their pins, tags and archive."""

    @property
    def notice(self) -> str | None:
        """A sentence for the user about the file (damaged, newer, read-only), or None."""
        return self._database.notice

    @property
    def saves(self) -> bool:
        """Whether chats are saved to disk."""
        return self._database.saves

    @property
    def problem(self) -> AIError | None:
        """Why the newest write failed, or None if it succeeded."""
        return self._backlog.problem

    @property
    def unsaved(self) -> int:
        """Number of messages in memory only; confirm before quitting while `problem` is set."""
        return len(self._backlog)

    def journal(
        self, settings: HasSettings, stored: StoredConversation | None = None
    ) -> ConversationJournal:
        """Return the journal of a conversation: a new one, or one that was loaded.

        `settings` is read whenever a message begins.
        """
        conversation_id = stored.id if stored is not None else new_id(self._clock_ms())
        return ConversationJournal(self, settings, conversation_id, self._clock_ms, stored)

    async def list(self, limit: int = 50, offset: int = 0) -> tuple[ConversationSummary, ...]:
        """Return the chats that are not archived, the most recently written first.

        Raises:
            AIError: they cannot be read.
        """
        await self._save_first()
        return await self._database.read(
            partial(statements.list_conversations, limit=limit, offset=offset)
        )

    async def latest(self) -> ConversationSummary | None:
        """Return the most recently written chat, or None if there is none.

        Raises:
            AIError: it cannot be read.
        """
        return next(iter(await self.list(limit=1)), None)

    async def load(
        self, conversation_id: str, leaf_id: str | None = None, *, message_id: str | None = None
    ) -> StoredConversation:
        """Return a chat with the branch that was shown last, or the one that ends in `leaf_id`.

        With a `message_id` it is a branch with that message, if there is one.

        Raises:
            AIError: BAD_REQUEST if the chat does not exist; else it cannot be read.
        """
        await self._save_first()
        stored = await self._database.read(
            partial(
                statements.load_conversation,
                conversation_id=conversation_id,
                leaf_id=leaf_id,
                message_id=message_id,
            )
        )
        if stored is None:
            raise _no_such_chat()
        self._backlog.know(conversation_id)
        return stored

    async def delete(self, conversation_id: str, revision: int | None = None) -> Deletion | None:
        """Delete a chat until it is restored or purged; see `Deletions.delete`."""
        return await self.deletions.delete(conversation_id, revision)

    async def rename(
        self, conversation_id: str, title: str, *, watch: ChatWatch | None = None
    ) -> None:
        """Set a chat's title; the `watch` of an open chat does not report it as news.

        Raises:
            AIError: it was not renamed; BAD_REQUEST if the chat does not exist.
        """
        await self._save_first()
        watch = watch or ChatWatch()
        rename = partial(
            statements.rename_conversation, conversation_id=conversation_id, title=title.strip()
        )
        async with watch.lock:
            if not await self._database.write(rename):
                raise _no_such_chat()
            watch.title, watch.is_renamed = column(title.strip()), True

    async def branches(self, journal: ConversationJournal) -> tuple[Branch, ...]:
        """Return the branches of an open chat, the one that was continued last first.

        Raises:
            AIError: they cannot be read.
        """
        await self._save_first()
        path = journal.path

        def read(connection: sqlite3.Connection) -> tuple[Branch, ...]:
            state = statements.chat_state(connection, journal.conversation_id)
            return branches(state.nodes, path) if state is not None else ()

        return await self._database.read(read)

    async def news(self, journal: ConversationJournal) -> ChatNews | None:
        """Return what other programs did to an open chat since the last call, or None.

        Costs one lookup in an index while there is nothing new.

        Raises:
            AIError: it cannot be read.
        """
        watch = journal.watch
        async with watch.lock:
            return await self._news(journal, watch)

    async def _news(self, journal: ConversationJournal, watch: ChatWatch) -> ChatNews | None:
        path = journal.path
        if watch.is_saved_anew:
            watch.is_saved_anew = False
            return ChatNews(is_saved_anew=True)
        if not path or self.unsaved or self.deleted(journal.conversation_id):
            return None
        read = partial(
            statements.chat_state, conversation_id=journal.conversation_id, revision=watch.revision
        )
        state = await self._database.read(read)
        if journal.path != path or journal.watch is not watch:  # it was written meanwhile
            return None
        if state is None:
            was_deleted, watch.is_deleted = watch.is_deleted, True
            return None if was_deleted else ChatNews(is_deleted=True)
        if state.revision == watch.revision:
            return None
        watch.is_deleted = False
        living = await self._database.run(self._database.instances.others)
        return await self._database.run(partial(watch.news, state, path, living))

    def put(self, row: MessageRow) -> None:
        """Add a row that is written soon."""
        self._backlog.put(row)
        self._database.wake()

    async def save(self) -> None:
        """Write all waiting rows; they are on the disk when this returns.

        Raises:
            AIError: they are still in memory only.
        """
        await self._database.run(partial(self._backlog.save, self._database.write_now))

    def deleted(self, conversation_id: str) -> Deleted | None:
        """Return which program deleted a chat, as far as a write has noticed it."""
        return self._backlog.deleted(conversation_id)

    async def _save_first(self) -> None:
        if self.unsaved:
            with suppress(
                AIError
            ):  # `problem` has it; what is on the disk can be read all the same
                await self.save()


def _no_such_chat() -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, "There is no such chat; it may have been deleted.")


@asynccontextmanager
async def open_store(
    path: Path, *, steps: Sequence[Migration] | None = None, clock_ms: Callable[[], int] = now_ms
) -> AsyncIterator[ConversationStore]:
    """Open the chats of a file; leaving the block writes what can be written.

    A file that is damaged, newer or inaccessible is not an error: see `notice` and `saves`.
    """
    backlog = Backlog()
    database = await Database.open(path, steps, backlog)
    try:
        backlog.writer = database.instances.own
        await _mark_interrupted(database)
        purge_in_background(database, clock_ms())
        yield ConversationStore(database, backlog, clock_ms)
    finally:
        with anyio.move_on_after(CLOSING_S, shield=True):
            await database.close()


async def _mark_interrupted(database: Database) -> None:
    """Mark the unfinished answers of programs that no longer run; writes only if there are any."""
    try:
        left = await database.read(statements.writers)
        dead = left - await database.run(database.instances.others) if left else left
        if dead and database.writable:
            await database.write(partial(statements.interrupt, dead=builtins.list(dead)))
    except AIError as error:
        logger.warning("Unfinished answers could not be marked: %s", error.message)


async def look_through(path: Path) -> tuple[bool, str]:
    """Check every page of a file of chats, repair it as the app does, and return a sentence on it.

    The first value tells whether chats are saved and none is known to be lost.
    """
    try:
        await anyio.Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True, "no saved chats yet"
    except OSError:
        pass  # opening it reports why it cannot be read
    Instances(path, "").note_damage()
    async with open_store(path) as store:
        if store.notice is not None:
            return False, store.notice
        count = len(await store.list(limit=_ALL))
        return True, f"{counted(count, 'chat')} in {path}"
