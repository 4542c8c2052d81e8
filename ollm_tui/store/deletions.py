"""The SQL of deletions: what is deleted is only marked, and stays until it is purged.

A deletion has a time, which is its name within the chat. Each function runs inside a transaction
of its caller.
"""

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.branches import Node, leaf_after, leaves, subtree
from ollm_tui.store.database import Database
from ollm_tui.store.purging import (
    marked_chats,
    marked_ids,
    purge_slice,
    remove_changes,
    remove_states,
)
from ollm_tui.store.statements import ConversationChanged, chat_state, restore_path

logger = logging.getLogger(__name__)

KEPT_DAYS: Final = 30
"""How long deleted chats and messages can be restored."""
KEPT_MS: Final = KEPT_DAYS * 24 * 3_600_000
_NEVER: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A chat, or a message with all that follows it, that was deleted."""

    conversation_id: str
    deleted_ms: int
    title: str
    """The title of the chat."""
    message_id: str | None = None
    """The first of the deleted messages; None for a whole chat."""
    messages: int = 0
    """Number of messages that were deleted."""


def delete_conversation(
    connection: sqlite3.Connection,
    conversation_id: str,
    now_ms: int,
    revision: int | None = None,
    living: Collection[str] = (),
) -> Deletion | None:
    """Mark a conversation as deleted; None if it does not exist.

    Raises:
        ConversationChanged: it is not at that `revision` any more, or one of the `living`
            programs is writing an answer to it.
    """
    state = chat_state(connection, conversation_id)
    if state is None:
        return None
    _check_writers(state.nodes, living)
    if revision is not None and state.revision != revision:
        raise ConversationChanged("was changed since it was listed")
    deleted_ms = _new_name(connection, conversation_id, now_ms)
    connection.execute(
        "UPDATE conversations SET deleted_ms = ?, revision = revision + 1 WHERE id = ?",
        (deleted_ms, conversation_id),
    )
    return Deletion(
        conversation_id=conversation_id,
        deleted_ms=deleted_ms,
        title=state.title,
        messages=len(state.nodes),
    )


def delete_messages(
    connection: sqlite3.Connection,
    conversation_id: str,
    message_id: str,
    now_ms: int,
    living: Collection[str] = (),
) -> Deletion | None:
    """Mark a message as deleted, and all that follow it; None if it does not exist.

    If nothing is left of the conversation, all of it is deleted.

    Raises:
        ConversationChanged: one of the `living` programs is writing an answer there.
    """
    state = chat_state(connection, conversation_id)
    marked = subtree(state.nodes, message_id) if state is not None else []
    if state is None or not marked:
        return None
    _check_writers(marked, living)
    gone = {node.id for node in marked}
    left = [node for node in state.nodes if node.id not in gone]
    if not left:
        return delete_conversation(connection, conversation_id, now_ms)
    deleted_ms = _new_name(connection, conversation_id, now_ms)
    connection.executemany(
        "INSERT INTO deleted_messages VALUES (?, ?, ?)",
        [(one, conversation_id, deleted_ms) for one in gone],
    )
    _touch(connection, conversation_id, _end_beside(left, state.nodes, marked[0]), gone)
    return Deletion(
        conversation_id=conversation_id,
        deleted_ms=deleted_ms,
        title=state.title,
        message_id=message_id,
        messages=len(marked),
    )


def _check_writers(nodes: Sequence[Node], living: Collection[str]) -> None:
    if any(node.writer in living for node in nodes):
        raise ConversationChanged("is being answered in another window")


def _new_name(connection: sqlite3.Connection, conversation_id: str, now_ms: int) -> int:
    (newest,) = connection.execute(
        "SELECT max(deleted_ms) FROM deleted_messages WHERE conversation_id = ?",
        (conversation_id,),
    ).fetchone()
    return max(now_ms, (newest or 0) + 1)


def _end_beside(left: Sequence[Node], nodes: Sequence[Node], deleted: Node) -> str:
    """Return the end of the branch to show in place of a deleted one: beside it, or before it."""
    places = {node.id: place for place, node in enumerate(nodes)}
    beside = [node for node in left if node.parent_id == deleted.parent_id]
    if beside:
        nearest = min(beside, key=lambda node: abs(places[node.id] - places[deleted.id]))
        return leaf_after(left, nearest.id, None) or nearest.id
    ids = {node.id for node in left}
    return deleted.parent_id if deleted.parent_id in ids else leaves(left)[-1].id


def _touch(
    connection: sqlite3.Connection, conversation_id: str, leaf_id: str, gone: Collection[str]
) -> None:
    """Count a change, and show another branch if the one that was shown last is gone."""
    (shown,) = connection.execute(
        "SELECT leaf_id FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    connection.execute(
        "UPDATE conversations SET revision = revision + 1, leaf_id = ? WHERE id = ?",
        (leaf_id if shown in gone else shown, conversation_id),
    )


def undelete(
    connection: sqlite3.Connection, conversation_id: str, deleted_ms: int | None = None
) -> Deletion | None:
    """Restore what one deletion removed, by default the newest one of a chat; None without one."""
    listed = [
        one
        for one in list_deletions(connection, conversation_id)
        if deleted_ms is None or one.deleted_ms == deleted_ms
    ]
    if not listed:
        return None
    deletion = listed[0]
    own = (conversation_id,)
    if deletion.message_id is not None:
        connection.execute(
            "DELETE FROM deleted_messages WHERE conversation_id = ? AND deleted_ms = ?",
            (conversation_id, deletion.deleted_ms),
        )
        (parent,) = connection.execute(
            "SELECT parent_id FROM messages WHERE id = ?", (deletion.message_id,)
        ).fetchone()
        if parent is not None:
            restore_path(connection, parent)
    connection.execute(
        "UPDATE conversations SET deleted_ms = NULL, revision = revision + 1 WHERE id = ?", own
    )
    state = chat_state(connection, conversation_id)
    if deletion.message_id is not None and state is not None:
        leaf = leaf_after(state.nodes, deletion.message_id, None)
        connection.execute("UPDATE conversations SET leaf_id = ? WHERE id = ?", (leaf, *own))
    return deletion


def list_deletions(
    connection: sqlite3.Connection, conversation_id: str | None = None
) -> list[Deletion]:
    """Return what can be restored, of one chat or of all, the newest deletion first."""
    only = "" if conversation_id is None else " AND c.id = ?"
    own = () if conversation_id is None else (conversation_id,)
    chats = connection.execute(
        "SELECT c.id, c.deleted_ms, c.title, NULL,"
        " (SELECT count(*) FROM messages WHERE conversation_id = c.id)"
        " - (SELECT count(*) FROM deleted_messages WHERE conversation_id = c.id)"
        f" FROM conversations AS c WHERE c.deleted_ms IS NOT NULL{only}",
        own,
    ).fetchall()
    # SQLite takes the id of the row with the least depth.
    parts = connection.execute(
        "SELECT c.id, d.deleted_ms, c.title, first.id, count(*), min(first.depth)"
        " FROM deleted_messages AS d JOIN messages AS first ON first.id = d.message_id"
        f" JOIN conversations AS c ON c.id = d.conversation_id WHERE 1{only}"
        " GROUP BY d.conversation_id, d.deleted_ms",
        own,
    ).fetchall()
    deletions = [
        Deletion(
            conversation_id=row[0],
            deleted_ms=row[1],
            title=row[2],
            message_id=row[3],
            messages=row[4],
        )
        for row in (*chats, *parts)
    ]
    return sorted(deletions, key=lambda one: one.deleted_ms, reverse=True)


def remember_shown(
    connection: sqlite3.Connection, conversation_id: str, leaf_id: str, now_ms: int
) -> None:
    """Have a branch shown where the conversation is opened next."""
    shown = connection.execute(
        "UPDATE conversations SET leaf_id = ? WHERE id = ? AND deleted_ms IS NULL AND EXISTS"
        " (SELECT 1 FROM messages WHERE id = ? AND conversation_id = ?) AND NOT EXISTS"
        " (SELECT 1 FROM deleted_messages WHERE message_id = ?)",
        (leaf_id, conversation_id, leaf_id, conversation_id, leaf_id),
    )
    if shown.rowcount:
        connection.execute(
            "INSERT OR REPLACE INTO shown_branches VALUES (?, ?, ?)",
            (leaf_id, conversation_id, now_ms),
        )


class Deletions:
    """What was deleted and can be restored; `ConversationStore.deletions` is one."""

    def __init__(
        self,
        database: Database,
        backlog: Backlog,
        save_first: Callable[[], Awaitable[None]],
        clock_ms: Callable[[], int],
    ) -> None:
        self._database = database
        self._backlog = backlog
        self._save_first = save_first
        self._clock_ms = clock_ms

    async def delete(self, conversation_id: str, revision: int | None = None) -> Deletion | None:
        """Delete a chat until it is restored or purged; None if it does not exist.

        A journal of this program that still writes it then fails. With a `revision`, as listed, a
        chat that was changed since is not deleted.

        Raises:
            AIError: it was not deleted; CONFLICT if another program has changed it since.
        """
        await self._save_first()
        delete = partial(
            delete_conversation,
            conversation_id=conversation_id,
            now_ms=self._clock_ms(),
            revision=revision,
        )
        deletion = await self._delete(delete, "this chat", conversation_id)
        self._backlog.forget(conversation_id)
        return deletion

    async def delete_messages(self, conversation_id: str, message_id: str) -> Deletion | None:
        """Delete a message and all that follow it until they are restored or purged.

        The last message of a chat takes the chat with it. None if it does not exist.

        Raises:
            AIError: it was not deleted; CONFLICT if another program is writing an answer there.
        """
        await self._save_first()
        delete = partial(
            delete_messages,
            conversation_id=conversation_id,
            message_id=message_id,
            now_ms=self._clock_ms(),
        )
        return await self._delete(delete, "this branch", conversation_id)

    async def _delete(
        self, delete: Callable[..., Deletion | None], what: str, conversation_id: str
    ) -> Deletion | None:
        def work() -> Deletion | None:
            living = self._database.instances.others()
            deletion = self._database.write_now(partial(delete, living=living))
            remove_states(self._database.path, [conversation_id])
            return deletion

        try:
            return await self._database.run(work)
        except ConversationChanged as changed:
            raise AIError(
                ErrorCode.CONFLICT,
                f"Not deleted: {what} {changed}.",
                hint="Look at it again before you delete it.",
                details={"reason": "changed"},
            ) from changed

    async def listed(self, conversation_id: str | None = None) -> tuple[Deletion, ...]:
        """Return what can be restored, of one chat or of all, the newest deletion first.

        Raises:
            AIError: it cannot be read.
        """
        read = partial(list_deletions, conversation_id=conversation_id)
        return tuple(await self._database.read(read))

    async def marked(self, before_ms: int) -> frozenset[str]:
        """Return the ids of the chats and messages that were deleted before a time.

        Raises:
            AIError: they cannot be read.
        """
        return await self._database.read(partial(marked_ids, before_ms=before_ms))

    async def undelete(
        self, conversation_id: str, deleted_ms: int | None = None
    ) -> Deletion | None:
        """Restore a deletion of a chat, by default the newest; None if there is none.

        Raises:
            AIError: it was not restored.
        """
        work = partial(undelete, conversation_id=conversation_id, deleted_ms=deleted_ms)
        deletion = await self._database.write(work)
        if deletion is not None:
            self._backlog.know(conversation_id)
        return deletion

    async def purge(self, kept_ms: int = KEPT_MS) -> int:
        """Remove for good what was deleted longer ago than that; return the number of messages.

        Raises:
            AIError: not all of it was removed.
        """
        return await self.purge_before(self._clock_ms() - kept_ms if kept_ms else _NEVER)

    async def purge_before(self, before_ms: int) -> int:
        """Remove for good what was deleted before a time; return the number of messages.

        Raises:
            AIError: not all of it was removed.
        """
        chats = await self._database.read(partial(marked_chats, before_ms=before_ms))
        count = 0
        while removed := await self._database.write(partial(purge_slice, before_ms=before_ms)):
            count += removed
        await anyio.to_thread.run_sync(_remove_kept, self._database.path, chats)
        if count:
            await self._database.shrink_log()
        return count


def _remove_kept(path: Path, chats: Collection[str]) -> None:
    """Remove what was kept beside the file of chats that are gone; blocks."""
    remove_changes(path, chats)
    remove_states(path, chats)


def purge_in_background(database: Database, now_ms: int) -> None:
    """Remove what was deleted long ago, a slice at a time, between what else is done."""

    def work() -> None:
        if not database.saves:
            return
        try:
            before_ms = now_ms - KEPT_MS
            chats = database.write_now(partial(marked_chats, before_ms=before_ms))
            _remove_kept(database.path, chats)
            if database.write_now(partial(purge_slice, before_ms=before_ms)):
                database.later(work)
        except AIError as error:
            logger.warning("What was deleted could not be removed: %s", error.message)

    database.later(work)
