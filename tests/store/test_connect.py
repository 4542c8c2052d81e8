"""Whatever state the file is in, the program starts and says what it found."""

import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.store import connect
from ollm_tui.store.conversations import open_store
from ollm_tui.store.files import Instances
from ollm_tui.store.migrate import APPLICATION_ID, shipped_migrations
from tests.store.rig import SETTINGS, asked, on_connection, open_parts, rows, save_chat

ROOT = Path(__file__).parents[2]
UNPRIVILEGED = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


def modes(folder: Path) -> dict[str, int]:
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in (folder, *folder.rglob("*"))}


@pytest.fixture(params=[0o000, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
async def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with open_store(folder / "chats.db") as store:
        await save_chat(store, "secret")
        found = modes(folder)
    assert {"chats.db-journal", "chats.db-wal"} & found.keys()
    folders = {"data", "chats.live"}
    assert {found.pop(name) for name in folders} == {0o700}
    assert set(found.values()) == {0o600}


async def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    async with open_store(path) as store:
        await save_chat(store, "secret")
    path.chmod(0o644)
    async with open_store(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_journal_suits_the_library_and_commits_reach_the_disk(path: Path) -> None:
    database, _, _ = await open_parts(path)

    def pragmas(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    try:
        mode, *others = await database.read(pragmas)
    finally:
        await database.close()
    assert mode == ("wal" if sqlite3.sqlite_version_info >= (3, 51, 3) else "truncate")
    assert others == [2, 1, 1, 10_000]


@pytest.mark.parametrize(("version", "mode"), [((3, 51, 2), "TRUNCATE"), ((3, 51, 3), "WAL")])
def test_write_ahead_is_used_only_where_it_is_safe(
    version: tuple[int, int, int], mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as connection:
        connect._configure(connection)
        found = connection.execute("PRAGMA journal_mode").fetchone()
    assert found == (mode.lower(),)


async def test_a_mode_that_others_hold_is_left(path: Path) -> None:
    async with open_store(path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
            connect._configure(connection)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


DAMAGES = 60


def damage(content: bytes, number: int) -> bytes:
    """Break a database in one of six ways, seeded."""
    chance = random.Random(number)
    page = 4096
    pages = len(content) // page
    match number % 6:
        case 0:
            return content[: chance.randrange(1, pages) * page + chance.choice([0, 7])]
        case 1:
            return chance.randbytes(len(content))
        case 2:
            return chance.randbytes(100) + content[100:]
        case 3:
            at = chance.randrange(pages) * page
            return content[:at] + chance.randbytes(page) + content[at + page :]
        case 4:
            return content[:68] + chance.randbytes(4) + content[72:]
        case _:
            flipped = bytearray(content)
            for _ in range(200):
                flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return bytes(flipped)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of many pages, made once."""
    import anyio

    path = tmp_path_factory.mktemp("healthy") / "chats.db"

    async def fill() -> None:
        async with open_store(path) as store:
            for number in range(20):
                await save_chat(store, f"{number} {'word ' * 400}")

    anyio.run(fill)
    return path.read_bytes()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(DAMAGES))
async def test_what_can_be_read_of_a_damaged_file_is_saved_and_the_file_is_kept_aside(
    path: Path, healthy: bytes, number: int
) -> None:
    broken = damage(healthy, number)
    path.parent.mkdir()
    path.write_bytes(broken)
    started = time.monotonic()
    async with open_store(path) as store:
        took_s = time.monotonic() - started
        listed = await store.list()
        notice = store.notice
        for summary in listed:
            await store.load(summary.id)
        await save_chat(store, "goes on")
    assert took_s <= 2
    kept = [p for p in path.parent.glob("chats-damaged-*.db") if p.read_bytes() == broken]
    if notice is None:  # only text was hit, which is no structure
        assert len(listed) == 20
        assert kept == []
    else:
        assert len(kept) == 1
        assert str(kept[0]) in notice
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_two_damaged_files_in_one_second_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"first" * 100, b"second" * 100):
        path.write_bytes(content)
        async with open_store(path):
            pass
    kept = sorted(p.read_bytes()[:5] for p in path.parent.glob("chats-damaged-*.db"))
    assert kept == [b"first", b"secon"]


async def test_journals_without_their_database_are_kept(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("chats.db-wal").write_bytes(b"left behind")
    async with open_store(path) as store:
        await save_chat(store, "new")
    (kept,) = path.parent.glob("chats-damaged-*.db-wal")
    assert kept.read_bytes() == b"left behind"


async def test_an_empty_file_is_simply_begun(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    async with open_store(path) as store:
        await save_chat(store, "new")
        assert store.notice is None
    assert list(path.parent.glob("chats-damaged-*")) == []


@pytest.mark.parametrize("owner", [0, 7, APPLICATION_ID])
async def test_a_database_of_another_program_is_kept_as_it_was(path: Path, owner: int) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"CREATE TABLE theirs (x); PRAGMA application_id = {owner}")
    before = path.read_bytes()
    async with open_store(path) as store:
        assert store.notice is not None
        assert store.saves
    (kept,) = path.parent.glob("chats-damaged-*.db")
    assert kept.read_bytes() == before


async def test_a_damaged_file_that_another_program_uses_is_left_where_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    living = Instances(path, "other")
    living.join()
    try:
        async with open_store(path) as store:
            assert not store.saves
            assert "in use elsewhere" in str(store.notice)
            await save_chat(store, "in memory")
            assert len(await store.list()) == 1
    finally:
        living.leave()
    assert path.read_bytes() == b"rubbish" * 1000


async def test_damage_met_while_running_is_a_sentence(path: Path) -> None:
    database, _, store = await open_parts(path)
    try:
        await save_chat(store, *[f"{n} {'word ' * 2000}" for n in range(5)])
        await on_connection(database, "PRAGMA shrink_memory")
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(random.Random(1).randbytes(path.stat().st_size - 4096))
        await on_connection(database, "PRAGMA shrink_memory")
        with pytest.raises(AIError, match="damaged") as refused:
            await save_chat(store, "more")
    finally:
        await database.close()
    assert refused.value.details["reason"] == "damaged"


async def test_a_newer_database_is_read_and_never_written(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "from the future")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    async with open_store(path) as store:
        assert not store.saves
        assert "format 99" in str(store.notice)
        assert (await store.load(chat_id)).history[0].text == "from the future"
        with pytest.raises(AIError, match="only be read") as refused:
            await store.journal(SETTINGS).begin(asked())
        with pytest.raises(AIError):
            await store.delete(chat_id)
        assert refused.value.details["reason"] == "read_only"
    assert path.read_bytes() == before


async def test_an_old_program_stops_writing_when_a_newer_one_takes_over(path: Path) -> None:
    async with open_store(path) as store:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
        with pytest.raises(AIError, match="newer version") as refused:
            await store.journal(SETTINGS).begin(asked())
    assert refused.value.details["reason"] == "newer"
    assert rows(path, "SELECT * FROM messages") == []


async def test_a_file_deleted_under_the_program_is_noticed_and_nothing_is_lost_silently(
    path: Path,
) -> None:
    async with open_store(path) as store:
        await save_chat(store, "first")
        path.unlink()
        with pytest.raises(AIError, match="moved or deleted") as refused:
            await store.journal(SETTINGS).begin(asked("second"))
        assert store.unsaved == 1
        assert store.problem == refused.value


async def test_a_folder_that_cannot_be_made_leaves_the_chats_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with open_store(tmp_path / "file" / "chats.db") as store:
        assert not store.saves
        assert "cannot be written" in str(store.notice)
        await save_chat(store, "in memory")
        assert len(await store.list()) == 1


async def test_a_program_that_never_stops_opening_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "OPENING_S", 0.05)
    with Instances(path, "other").opening(1):
        async with open_store(path) as store:
            assert not store.saves
            assert "another program" in str(store.notice)


async def test_a_file_that_another_program_locks_leaves_the_chats_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(path):
        pass
    monkeypatch.setattr(connect, "BUSY_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        async with open_store(path) as store:
            assert not store.saves
            assert store.notice == "Not saved: another program holds the file."


READ_ONLY = """
import os, sys
from pathlib import Path
import anyio
from anyio._backends import _asyncio
import ollm_tui.store.conversations as c
from ollm_tui.store.migrate import shipped_migrations
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.store.rows import ConversationSettings

async def main(path):
    async with c.open_store(path, steps=STEPS) as store:
        print(store.saves, store.notice)
        print([summary.title for summary in await store.list()])
        try:
            await store.journal(ConversationSettings()).begin(Message("user", "x"))
            print("begun")
        except AIError as error:
            print(error.message)

STEPS = shipped_migrations()  # the files may be out of reach of another user
if os.geteuid() == 0:
    os.setuid(int(sys.argv[2]))
anyio.run(main, Path(sys.argv[1]))
"""


def run_unprivileged(path: Path) -> list[str]:
    command = [sys.executable, "-c", READ_ONLY, str(path), str(UNPRIVILEGED)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach: the system's own temporary files are there."""
    folder = Path(tempfile.mkdtemp(prefix="chats-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_chats_in_a_folder_that_cannot_be_written_can_be_read(open_folder: Path) -> None:
    path = open_folder / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "old chat")
    path.chmod(0o444)
    shutil.rmtree(open_folder / "chats.live")
    path.with_name("chats.db-journal").unlink(missing_ok=True)
    open_folder.chmod(0o555)
    before = path.read_bytes()
    first, listed, begun = run_unprivileged(path)
    assert first.startswith("False Saved chats can be read, but nothing is saved")
    assert listed == "['old chat']"
    assert begun.startswith("Not saved")
    assert path.read_bytes() == before


async def test_chats_of_an_older_format_can_be_read_where_nothing_can_be_written(
    open_folder: Path,
) -> None:
    path = open_folder / "chats.db"
    async with open_store(path, steps=shipped_migrations()[:1]):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO conversations VALUES (1, 'c', 'old chat', 'question', 1, 1, NULL, NULL,"
            " NULL, '{}', NULL)"
        )
    path.chmod(0o444)
    shutil.rmtree(open_folder / "chats.live")
    open_folder.chmod(0o555)
    first, listed, begun = run_unprivileged(path)
    assert first.startswith("False Saved chats can be read, but nothing is saved")
    assert listed == "['old chat']"
    assert begun.startswith("Not saved")
    assert rows(path, "PRAGMA user_version") == [(1,)]


async def test_a_folder_that_cannot_be_written_and_has_no_chats_leaves_them_in_memory(
    open_folder: Path,
) -> None:
    open_folder.chmod(0o555)
    first, listed, begun = run_unprivileged(open_folder / "chats.db")
    assert first.startswith("False Not saved: ")
    assert (listed, begun) == ("[]", "begun")
    assert list(open_folder.iterdir()) == []


async def test_a_file_of_ours_that_lost_its_version_is_kept_aside(path: Path) -> None:
    async with open_store(path) as store:
        await save_chat(store, "old")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
    async with open_store(path) as store:
        assert store.saves
        assert "kept as" in str(store.notice)
    assert len(list(path.parent.glob("chats-damaged-*.db"))) == 1
