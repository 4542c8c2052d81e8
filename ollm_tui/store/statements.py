"""The SQL of chats: each function runs inside a transaction that somebody else began."""

import sqlite3
from collections.abc import Collection, Sequence

from ollm_tui.store.options_json import options_from_json, options_to_json
from ollm_tui.store.rows import (
    ConversationSettings,
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

LIST = """
SELECT c.id, c.title, c.updated_ms, m.depth, c.model
FROM conversations AS c LEFT JOIN messages AS m ON m.id = c.leaf_id
ORDER BY c.updated_ms DESC, c.number DESC LIMIT ? OFFSET ?
"""

# The depth falls with each step, so that no damage can make this endless.
PATH = """
WITH RECURSIVE path (number, id, parent_id, depth) AS (
  SELECT number, id, parent_id, depth FROM messages WHERE id = ?
  UNION ALL
  SELECT m.number, m.id, m.parent_id, m.depth FROM path
  JOIN messages AS m ON m.id = path.parent_id AND m.depth < path.depth
)
SELECT m.id, m.role, m.state, m.body FROM path JOIN messages AS m ON m.number = path.number
ORDER BY path.depth
"""

# The body comes as UTF-8: Python would encode a long one in one go, and nothing else ran meanwhile.
_UPSERT = """
INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, writer, model,
  created_ms, updated_ms, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))
ON CONFLICT (id) DO UPDATE SET role = excluded.role, state = excluded.state,
  writer = excluded.writer, updated_ms = excluded.updated_ms, body = excluded.body
"""


class ConversationGone(Exception):
    """Another program has deleted the conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(conversation_id)
        self.conversation_id = conversation_id


def write_rows(
    connection: sqlite3.Connection,
    rows: Sequence[MessageRow],
    known: Collection[str],
    writer: str,
) -> None:
    """Write messages, and the conversations of those that are the first.

    Raises:
        ConversationGone: a conversation in `known` is not there any more.
    """
    for row in rows:
        _make_conversation(connection, row, known)
        _write_message(connection, row, writer)
        _touch_conversation(connection, row)


def _make_conversation(
    connection: sqlite3.Connection, row: MessageRow, known: Collection[str]
) -> None:
    query = "SELECT 1 FROM conversations WHERE id = ?"
    if connection.execute(query, (row.conversation_id,)).fetchone() is not None:
        return
    if row.conversation_id in known:
        raise ConversationGone(row.conversation_id)
    connection.execute(
        "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, options)"
        " VALUES (?, '', 'question', ?, ?, '{}')",
        (row.conversation_id, row.created_ms, row.updated_ms),
    )


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
        encoded(row.message),
    )
    connection.execute(_UPSERT, values)


def _touch_conversation(connection: sqlite3.Connection, row: MessageRow) -> None:
    settings = row.settings
    if settings is None:
        connection.execute(
            "UPDATE conversations SET updated_ms = ? WHERE id = ?",
            (row.updated_ms, row.conversation_id),
        )
        return
    model = column(settings.model)
    provider = model.partition("://")[0] if model and "://" in model else None
    connection.execute(
        "UPDATE conversations SET updated_ms = ?, leaf_id = ?, model = ?, provider = ?,"
        " system_prompt = ?, options = ?,"
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
    """Give the newest conversations; the order comes from an index."""
    return tuple(summary_of(row) for row in connection.execute(LIST, (limit, offset)))


def load_conversation(
    connection: sqlite3.Connection, conversation_id: str
) -> StoredConversation | None:
    """Give a conversation with the messages of its active path; None when there is none."""
    found = connection.execute(
        "SELECT title, model, system_prompt, options, leaf_id FROM conversations WHERE id = ?",
        (conversation_id,),
    ).fetchone()
    if found is None:
        return None
    title, model, system_prompt, options, leaf_id = found
    generation, should_think, tools = options_from_json(options)
    return StoredConversation(
        id=conversation_id,
        title=title,
        settings=ConversationSettings(
            model=model,
            system_prompt=system_prompt,
            options=generation,
            should_think=should_think,
            tools=tools,
        ),
        messages=_path(connection, leaf_id),
    )


def _path(connection: sqlite3.Connection, leaf_id: str | None) -> tuple[StoredMessage, ...]:
    return tuple(decoded(*row) for row in connection.execute(PATH, (leaf_id,)))


def delete_conversation(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Remove a conversation with all its messages."""
    connection.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))


def rename_conversation(connection: sqlite3.Connection, conversation_id: str, title: str) -> None:
    """Give a title that no question and no model replaces."""
    connection.execute(
        "UPDATE conversations SET title = ?, title_by = 'person' WHERE id = ?",
        (column(title), conversation_id),
    )


def writers(connection: sqlite3.Connection) -> frozenset[str]:
    """Give the programs that say they are writing an answer."""
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
