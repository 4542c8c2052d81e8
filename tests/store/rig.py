"""Short ways to say what a chat holds, and what is in its file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ollm_tui.protocol.message import Message
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.database import Database
from ollm_tui.store.migrate import migrate, shipped_migrations
from ollm_tui.store.rows import ConversationSettings

SETTINGS = ConversationSettings(model="local://tiny")


def asked(text: str = "Why?") -> Message:
    return Message("user", text)


def answered(text: str = "Because.", ended: str | None = None) -> Message:
    return Message("assistant", text, metadata={"ended": ended} if ended else None)


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    """Ask the file itself, as another program would."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def miscounted(path: Path) -> list[tuple[object, ...]]:
    """Return the chats whose number of messages or size is not what their messages say."""
    query = (
        "SELECT id, total_messages, size_bytes FROM conversations AS c WHERE total_messages <>"
        " (SELECT count(*) FROM messages WHERE conversation_id = c.id)"
        " - (SELECT count(*) FROM deleted_messages WHERE conversation_id = c.id)"
        " OR size_bytes <> (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM messages"
        " WHERE conversation_id = c.id AND state <> 'streaming')"
    )
    return rows(path, query)


def make_old(path: Path, version: int, chats: int, messages: int) -> None:
    """Make a file of an older format, with messages that say where they stand."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, shipped_migrations()[:version], None)
        connection.execute("BEGIN")
        for chat in range(chats):
            connection.execute(
                "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, options)"
                " VALUES (?, 'old', 'question', 1, 1, '{}')",
                (f"c{chat}",),
            )
            connection.executemany(
                "INSERT INTO messages (id, conversation_id, depth, role, state, created_ms,"
                " updated_ms, body) VALUES (?, ?, 1, 'user', 'complete', 1, 1, ?)",
                [(f"m{chat}-{n}", f"c{chat}", _body(f"{chat}.{n}")) for n in range(messages)],
            )
        connection.execute("COMMIT")


def _body(text: str) -> str:
    return f'{{"role":"user","content":[{{"type":"text","text":"{text} {"w " * 300}"}}]}}'


async def save_chat(store: ConversationStore, *texts: str) -> str:
    """Save one question and its answer for each text; gives the chat's id."""
    journal = store.journal(SETTINGS)
    for text in texts:
        await journal.begin(asked(text))
        answer = await journal.begin(answered(f"About {text}"))
        await journal.finish(answer, answered(f"About {text}"))
    return journal.conversation_id


async def reached(store: ConversationStore) -> dict[str, str]:
    """Return the texts of all messages that a person can go to, by their ids."""
    return {
        message.id: message.message.text
        for chat in await store.list(limit=1_000_000)
        for branch in (await store.load(chat.id)).branches
        for message in (await store.load(chat.id, branch.leaf_id)).messages
    }


async def open_parts(path: Path) -> tuple[Database, Backlog, ConversationStore]:
    """Open a store whose parts a test can reach; close the database yourself."""
    backlog = Backlog()
    database = await Database.open(path, None, backlog)
    backlog.writer = database.instances.own
    return database, backlog, ConversationStore(database, backlog)


async def on_connection(database: Database, statement: str) -> None:
    """Run a statement outside a transaction, in the database's thread."""
    connections: list[sqlite3.Connection] = []
    await database.read(connections.append)
    await database.run(lambda: connections[0].execute(statement).fetchall())


async def change(database: Database, statement: str, *values: str) -> None:
    """Change the file behind the store's back, in a transaction."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(statement, values)

    await database.write(work)
