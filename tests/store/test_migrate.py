"""A database is brought up to date wholly or not at all, whenever the program dies."""

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import open_store
from ollm_tui.store.migrate import (
    APPLICATION_ID,
    Migration,
    application_id,
    migrate,
    schema_version,
    shipped_migrations,
    statements,
)
from tests.store.rig import make_old, rows, save_chat
from tests.support.seeds import sampled

ROOT = Path(__file__).parents[2]
NEXT = """
-- A second step; with a semicolon in a comment.
CREATE TABLE tags (name TEXT NOT NULL);
INSERT INTO tags VALUES ('a;b');
ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET title = title || '!';
UPDATE messages SET updated_ms = updated_ms + 1;
"""
SHIPPED = len(shipped_migrations())
STEPS = (*shipped_migrations(), Migration(SHIPPED + 1, NEXT))
COPY = f"chats-before-{SHIPPED + 1}.db"


def test_the_shipped_steps_are_numbered_without_gaps() -> None:
    assert [step.number for step in shipped_migrations()] == [1, 2, 3, 4]


def test_a_script_is_parted_at_the_ends_of_its_statements() -> None:
    parts = [part.strip().splitlines()[-1] for part in statements(NEXT)]
    assert parts == NEXT.strip().splitlines()[1:]


async def test_an_older_database_is_copied_and_brought_up_to_date(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "kept")
    async with open_store(path, steps=STEPS) as store:
        assert store.notice is None
        assert (await store.load(chat_id)).title == "kept!"
        await save_chat(store, "more")
    assert rows(path, "PRAGMA user_version") == [(SHIPPED + 1,)]
    copy = path.with_name(COPY)
    assert rows(copy, "PRAGMA user_version") == [(SHIPPED,)]
    assert rows(copy, "SELECT title FROM conversations") == [("kept",)]
    assert copy.stat().st_mode & 0o777 == 0o600
    async with open_store(path) as store:  # the older program again
        assert not store.saves


async def test_a_new_database_needs_no_copy(path: Path) -> None:
    async with open_store(path, steps=STEPS):
        pass
    assert list(path.parent.glob("*before*")) == []


@pytest.mark.parametrize(
    "broken",
    [
        "INSERT INTO conversations SELECT * FROM conversations;",
        "UPDATE messages SET conversation_id = 'nobody';",
    ],
)
async def test_a_step_that_fails_leaves_the_database_as_it_was(path: Path, broken: str) -> None:
    async with open_store(path) as store:
        await save_chat(store, "kept")
    failing = (*shipped_migrations(), Migration(SHIPPED + 1, f"CREATE TABLE tags (x);\n{broken}"))
    async with open_store(path, steps=failing) as store:
        assert not store.saves
    assert rows(path, "PRAGMA user_version") == [(SHIPPED,)]
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'tags'") == []
    assert list(path.parent.glob("*damaged*")) == []
    async with open_store(path) as store:
        assert [summary.title for summary in await store.list()] == ["kept"]


def test_migrating_what_is_up_to_date_does_nothing(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, STEPS, path)
        before = connection.total_changes
        migrate(connection, STEPS, path)
        assert connection.total_changes == before
        assert (schema_version(connection), application_id(connection)) == (
            SHIPPED + 1,
            APPLICATION_ID,
        )


def test_a_step_that_fails_leaves_no_transaction_open(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(
                connection,
                (*STEPS, Migration(SHIPPED + 2, "INSERT INTO nowhere VALUES (1);")),
                path,
            )
        assert not connection.in_transaction
        assert schema_version(connection) == 0


DYING = """
import os, signal, sqlite3, sys
from pathlib import Path
from ollm_tui.store.migrate import Migration, migrate, shipped_migrations
path, left, script = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("PRAGMA cache_size = 2")  # pages go to the file in the middle of a transaction

def count(statement):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

connection.set_trace_callback(count)
steps = shipped_migrations()
migrate(connection, (*steps, Migration(len(steps) + 1, script)), path)
"""


@pytest.mark.slow
@pytest.mark.parametrize("from_version", sampled([SHIPPED, *range(SHIPPED)], 1))
async def test_a_kill_at_every_statement_of_a_migration_loses_nothing(
    path: Path, from_version: int
) -> None:
    if from_version:
        make_old(path, from_version, chats=2, messages=20)
    survived = False
    for number in range(1, 120):
        command = [sys.executable, "-c", DYING, str(path), str(number), NEXT]
        survived = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        version = rows(path, "PRAGMA user_version")
        if from_version:
            assert rows(path, "SELECT count(*) FROM messages") == [(40,)]
        if survived:
            break
        assert version in ([(from_version,)], [(SHIPPED + 1,)])
        if version == [(SHIPPED + 1,)]:  # killed after the commit
            break
    assert number > 8
    assert rows(path, "PRAGMA user_version") == [(SHIPPED + 1,)]
    assert rows(path, "SELECT name FROM tags") == [("a;b",)]
    copies = list(path.parent.glob(COPY))
    assert len(copies) == bool(from_version)
    for copy in copies:
        assert rows(copy, "PRAGMA integrity_check") == [("ok",)]
        assert rows(copy, "SELECT count(*) FROM messages") == [(40,)]


async def test_an_unfinished_copy_is_made_anew(path: Path) -> None:
    async with open_store(path) as store:
        await save_chat(store, "kept")
    path.with_name(f"{COPY}.part").write_bytes(random.Random(1).randbytes(5000))
    async with open_store(path, steps=STEPS) as store:
        assert store.saves
    assert rows(path.with_name(COPY), "SELECT title FROM conversations") == [("kept",)]


async def test_a_file_of_the_first_format_keeps_its_branches_and_settings(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, shipped_migrations()[:1], path)
        connection.executescript(FIRST_FORMAT)
    async with open_store(path) as store:
        assert store.notice is None
        (listed,) = await store.list()
        stored = await store.load(listed.id)
        assert [message.text for message in stored.history] == ["q", "second"]
        assert stored.settings.model == "local://tiny"
        other = await store.load(listed.id, stored.branches[1].leaf_id)
        assert [message.text for message in other.history] == ["q", "first"]
        assert other.settings.model == "local://tiny"
        journal = store.journal(other.settings, other)
        await journal.begin(Message("user", "on"))
        assert [m.text for m in (await store.load(listed.id)).history] == ["q", "first", "on"]
    assert rows(path.with_name(f"chats-before-{SHIPPED}.db"), "PRAGMA user_version") == [(1,)]


FIRST_FORMAT = """
INSERT INTO conversations VALUES
  (1, 'c', 'q', 'question', 1, 3, 'local://tiny', 'local', NULL, '{}', 'm3');
INSERT INTO messages VALUES
  (1, 'm1', 'c', NULL, 1, 'user', 'complete', NULL, NULL, 1, 1, '{"role":"user","content":"q"}'),
  (2, 'm2', 'c', 'm1', 2, 'assistant', 'complete', NULL, NULL, 2, 2,
   '{"role":"assistant","content":"first"}'),
  (3, 'm3', 'c', 'm1', 2, 'assistant', 'complete', NULL, NULL, 3, 3,
   '{"role":"assistant","content":"second"}');
"""
