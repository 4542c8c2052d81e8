"""The SQL of chats; each function runs inside a transaction of its caller."""

import sqlite3
from collections.abc import Collection, Sequence
from operator import itemgetter

from ollm_tui.store.branches import ChatState, Node, leaf_after, leaves
from ollm_tui.store.options_json import (
    options_to_json,
    settings_from_json,
    settings_of,
    settings_to_json,
)
from ollm_tui.store.rows import (
    SUMMARY,
    ConversationSummary,
    MessageRow,
    StoredConversation,
    StoredMessage,
    column,
    decoded,
    encoded,
    summary_of,
    title_of,
)

# The plus keeps SQLite from an index that would have to be sorted.
LIST = f"""
SELECT {SUMMARY} FROM conversations AS c LEFT JOIN messages AS m ON m.id = c.leaf_id
WHERE +c.deleted_ms IS NULL AND NOT c.is_archived
ORDER BY c.updated_ms DESC, c.number DESC LIMIT ? OFFSET ?
"""

# The depth falls with each step, so that no damage can make this endless.
_PATH = """
WITH RECURSIVE path (number, id, parent_id, depth) AS (
  SELECT number, id, parent_id, depth FROM messages WHERE id = ?
  UNION ALL
  SELECT m.number, m.id, m.parent_id, m.depth FROM path
  JOIN messages AS m ON m.id = path.parent_id AND m.depth < path.depth
)
SELECT path.depth, m.id, m.role, m.state, m.body, m.settings
FROM path CROSS JOIN messages AS m ON m.number = path.number
"""

_RESTORE_PATH = """
WITH RECURSIVE path (id, parent_id, depth) AS (
  SELECT id, parent_id, depth FROM messages WHERE id = ?
  UNION ALL
  SELECT m.id, m.parent_id, m.depth FROM path
  JOIN messages AS m ON m.id = path.parent_id AND m.depth < path.depth
)
DELETE FROM deleted_messages WHERE message_id IN (SELECT id FROM path)
"""

# The body comes as UTF-8: Python would encode a long one in one go, which blocks all threads.
_UPSERT = """
INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, writer, model,
  created_ms, updated_ms, settings, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))
ON CONFLICT (id) DO UPDATE SET role = excluded.role, state = excluded.state,
  writer = excluded.writer, updated_ms = excluded.updated_ms, body = excluded.body,
  settings = coalesce(excluded.settings, settings)
"""

_LIKE_THE_OTHER = """
UPDATE messages SET model = (SELECT model FROM messages WHERE id = :other),
  created_ms = coalesce((SELECT created_ms FROM messages WHERE id = :other), created_ms)
WHERE id = :own
"""


class ConversationGone(Exception):
    """Another program has deleted the conversation, or the branch that is continued, for good."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(conversation_id)
        self.conversation_id = conversation_id


class ConversationChanged(Exception):
    """The conversation is not as it was listed; the text has the reason."""


def write_rows(
    connection: sqlite3.Connection, rows: Sequence[MessageRow], known: Collection[str], writer: str
) -> None:
    """Write messages, and create the conversations of first ones.

    Raises:
        ConversationGone: a conversation in `known` no longer exists, or a message that is followed.
    """
    for row in rows:
        _make_conversation(connection, row, known)
        if row.settings is not None:
            _follow(connection, row)
        _write_message(connection, row, writer)
        _touch_conversation(connection, row)


def _make_conversation(
    connection: sqlite3.Connection, row: MessageRow, known: Collection[str]
) -> None:
    query = "SELECT deleted_ms FROM conversations WHERE id = ?"
    known_row = connection.execute(query, (row.conversation_id,)).fetchone()
    if known_row == (None,):
        return
    if known_row is not None or row.conversation_id in known:
        raise ConversationGone(row.conversation_id)
    connection.execute(
        "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, options)"
        " VALUES (?, ?, ?, ?, ?, '{}')",
        (
            row.conversation_id,
            row.own_title or "",
            "question" if row.own_title is None else "person",
            row.created_ms,
            row.updated_ms,
        ),
    )


def _follow(connection: sqlite3.Connection, row: MessageRow) -> None:
    """Restore the messages that one follows, which another program may have deleted."""
    if row.parent_id is None:
        return
    query = "SELECT 1 FROM messages WHERE id = ?"
    if connection.execute(query, (row.parent_id,)).fetchone() is None:
        raise ConversationGone(row.conversation_id)
    restore_path(connection, row.parent_id)


def restore_path(connection: sqlite3.Connection, message_id: str) -> None:
    """Restore a message and those before it, as far as they are deleted."""
    query = "SELECT 1 FROM deleted_messages WHERE message_id = ?"
    if connection.execute(query, (message_id,)).fetchone() is not None:
        connection.execute(_RESTORE_PATH, (message_id,))


def _write_message(connection: sqlite3.Connection, row: MessageRow, writer: str) -> None:
    values = (
        row.id,
        row.conversation_id,
        row.parent_id,
        row.depth,
        column(row.message.role),
        row.state,
        writer if row.state == "streaming" else None,
        column(row.settings.model) if row.settings and row.message.role == "assistant" else None,
        row.created_ms,
        row.updated_ms,
        settings_to_json(row.settings) if row.settings and row.has_new_settings else None,
        encoded(row.message),
    )
    connection.execute(_UPSERT, values)
    if row.copy_of is not None:
        connection.execute(_LIKE_THE_OTHER, {"other": row.copy_of, "own": row.id})


def _touch_conversation(connection: sqlite3.Connection, row: MessageRow) -> None:
    settings = row.settings
    if settings is None:
        connection.execute(
            "UPDATE conversations SET updated_ms = max(updated_ms, ?), revision = revision + ?"
            " WHERE id = ?",
            (row.updated_ms, row.state != "streaming", row.conversation_id),
        )
        return
    model = column(settings.model)
    provider = model.partition("://")[0] if model and "://" in model else None
    connection.execute(
        "UPDATE conversations SET updated_ms = max(updated_ms, ?), revision = revision + 1,"
        " leaf_id = ?, model = ?, provider = ?, system_prompt = ?, options = ?,"
        " title = CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
        (
            row.updated_ms,
            row.id,
            model,
            provider,
            column(settings.system_prompt),
            options_to_json(settings),
            title_of(row.message),
            row.conversation_id,
        ),
    )


def list_conversations(
    connection: sqlite3.Connection, limit: int, offset: int
) -> tuple[ConversationSummary, ...]:
    """Return the newest conversations that are not archived; an index has their order."""
    return tuple(summary_of(row) for row in connection.execute(LIST, (limit, offset)))


def load_conversation(
    connection: sqlite3.Connection,
    conversation_id: str,
    leaf_id: str | None = None,
    message_id: str | None = None,
) -> StoredConversation | None:
    """Return a conversation with the messages of one branch, or None if it does not exist.

    Without `leaf_id` it is a branch with `message_id`, or the one that was shown last.
    """
    row = connection.execute(
        "SELECT model, system_prompt, options, leaf_id FROM conversations"
        " WHERE id = ? AND deleted_ms IS NULL",
        (conversation_id,),
    ).fetchone()
    state = chat_state(connection, conversation_id)
    if row is None or state is None:
        return None
    model, system_prompt, options, active_id = row
    ids = {node.id for node in state.nodes}
    with_message = leaf_after(state.nodes, message_id, active_id) if message_id else None
    leaf = next((end for end in (leaf_id, with_message, active_id) if end in ids), None)
    if leaf is None and ids:
        leaf = leaves(state.nodes)[-1].id
    own = settings_of(model, system_prompt, options)
    messages, changes = _read_path(connection, leaf)
    branch = (settings_from_json(text) for text in reversed(changes))
    return StoredConversation(
        id=conversation_id,
        title=state.title,
        settings=next((one for one in branch if one is not None), own),
        messages=messages,
        state=state,
    )


def _read_path(
    connection: sqlite3.Connection, leaf_id: str | None
) -> tuple[tuple[StoredMessage, ...], list[str]]:
    """Return a message and those before it, in order, and the settings that changed on the way."""
    # Each is read before the next, so that there is one body at a time. SQLite does not sort them:
    # it would copy them all.
    rows = [
        (depth, decoded(message_id, role, state, body), settings)
        for depth, message_id, role, state, body, settings in connection.execute(_PATH, (leaf_id,))
    ]
    rows.sort(key=itemgetter(0))
    changes = [settings for *_, settings in rows if settings is not None]
    return tuple(message for _, message, _ in rows), changes


def chat_state(
    connection: sqlite3.Connection, conversation_id: str, revision: int | None = None
) -> ChatState | None:
    """Return the state of a chat, without its texts, or None if it does not exist.

    If it is still at `revision`, its messages are not read.
    """
    row = connection.execute(
        "SELECT revision, title, title_by FROM conversations WHERE id = ? AND deleted_ms IS NULL",
        (conversation_id,),
    ).fetchone()
    if row is None:
        return None
    nodes: tuple[Node, ...] = ()
    if row[0] != revision:
        nodes = _nodes(connection, conversation_id)
    return ChatState(
        revision=row[0],
        title=row[1],
        is_renamed=row[2] == "person",
        nodes=nodes,
        is_made=row[2] == "model",
    )


def _nodes(connection: sqlite3.Connection, conversation_id: str) -> tuple[Node, ...]:
    own = (conversation_id,)
    deleted = {
        message_id
        for (message_id,) in connection.execute(
            "SELECT message_id FROM deleted_messages WHERE conversation_id = ?", own
        )
    }
    shown = dict(
        connection.execute(
            "SELECT leaf_id, shown_ms FROM shown_branches WHERE conversation_id = ?", own
        ).fetchall()
    )
    nodes = connection.execute(
        "SELECT id, parent_id, depth, updated_ms, writer FROM messages"
        " WHERE conversation_id = ? ORDER BY number",
        own,
    )
    return tuple(
        Node(message_id, parent_id, depth, updated_ms, writer, shown.get(message_id, 0))
        for message_id, parent_id, depth, updated_ms, writer in nodes
        if message_id not in deleted
    )


def rename_conversation(connection: sqlite3.Connection, conversation_id: str, title: str) -> bool:
    """Set the title that the user gave; return False if the chat does not exist."""
    cursor = connection.execute(
        "UPDATE conversations SET title = ?, title_by = 'person', revision = revision + 1"
        " WHERE id = ? AND deleted_ms IS NULL",
        (column(title), conversation_id),
    )
    return cursor.rowcount > 0


def writers(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the programs that are marked as writing an answer."""
    query = "SELECT DISTINCT writer FROM messages WHERE state = 'streaming'"
    return frozenset(str(writer) for (writer,) in connection.execute(query))


def interrupt(connection: sqlite3.Connection, dead: Collection[str]) -> None:
    """Mark the answers that programs left unfinished."""
    for writer in dead:
        connection.execute(
            "UPDATE messages SET state = 'interrupted', writer = NULL"
            " WHERE state = 'streaming' AND writer = ?",
            (writer,),
        )
