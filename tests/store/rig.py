"""Short ways to say what a chat holds, and what is in its file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ollm_tui.protocol.message import Message
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.database import Database
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


async def save_chat(store: ConversationStore, *texts: str) -> str:
    """Save one question and its answer for each text; gives the chat's id."""
    journal = store.journal(SETTINGS)
    for text in texts:
        await journal.begin(asked(text))
        answer = await journal.begin(answered(f"About {text}"))
        await journal.finish(answer, answered(f"About {text}"))
    return journal.conversation_id


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
