"""What can be read of a damaged database is saved, whichever of its pages are broken."""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.migrate import migrate, shipped_migrations
from ollm_tui.store.salvage import CONVERSATION, MESSAGE, salvage
from ollm_tui.store.sqlite_pages import Layout, read_rows
from tests.store.rig import SETTINGS, answered, asked, reached, rows, save_chat
from tests.support.seeds import in_parts

PAGE = 4096
KINDS = {2: "index", 10: "index", 5: "inner table", 13: "table leaf"}
SEEDS, PARTS = 240, 16
LONG = "word " * 3000
"""More than a page: it goes on in others."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with pages of every kind, free ones too."""
    path = tmp_path_factory.mktemp("healthy") / "chats.db"

    async def fill() -> None:
        async with open_store(path) as store:
            for number in range(40):
                texts = [f"<{number}.{turn} {'x' * 200}>" for turn in range(4)]
                chat = await save_chat(store, *texts)
                if number % 4 == 1:
                    await store.delete(chat)
                if number % 8 == 2:
                    await save_chat(store, f"<long {number}> {LONG}")
                if number % 4 == 3:
                    stored = await store.load(chat)
                    journal = store.journal(SETTINGS, stored)
                    journal.rewind(3)
                    answer = await journal.begin(answered(f"<other {number}>"))
                    await journal.finish(answer, answered(f"<other {number}>"))

    anyio.run(fill)
    return path.read_bytes()


async def texts_of(store: ConversationStore) -> Counter[str]:
    """Give all messages that a person can reach."""
    return Counter((await reached(store)).values())


def pages_of(content: bytes, kind: str) -> list[int]:
    """Give the pages of a kind, counted from 0; those of no table and no index are `other`."""
    starts = range(1, len(content) // PAGE)
    return [page for page in starts if KINDS.get(content[page * PAGE], "other") == kind]


def damage(content: bytes, seed: int) -> tuple[str, bytes]:
    """Break pages of one kind, the header, all of the first page, or the end."""
    chance = random.Random(seed)
    kinds = ("index", "table leaf", "inner table", "other", "any", "first", "header", "end")
    kind = kinds[seed % len(kinds)]
    broken = bytearray(content)
    if kind == "end":
        return kind, content[: chance.randrange(1, len(content) // PAGE) * PAGE]
    if kind == "header":
        at = chance.choice([0, 16, 18, 24, 28, 32, 36, 40, 44, 52, 56, 60, 68, 96])
        broken[at : at + 4] = chance.randbytes(4)
    elif kind == "first":
        broken[:PAGE] = chance.randbytes(PAGE)
    else:
        every = range(1, len(content) // PAGE)
        candidates = [*every] if kind == "any" else pages_of(content, kind)
        for page in chance.sample(candidates, chance.randint(1, max(1, len(candidates) // 3))):
            fill = chance.choice([chance.randbytes(PAGE), bytes(PAGE), b"\xff" * PAGE])
            broken[page * PAGE : (page + 1) * PAGE] = fill
    return kind, bytes(broken)


@pytest.mark.slow
@in_parts(PARTS)
async def test_no_message_is_lost_that_stands_in_a_sound_page(
    path: Path, healthy: bytes, part: int
) -> None:
    path.parent.mkdir()
    each = SEEDS // PARTS  # one after the other: the kind of damage hangs on the last digits
    for seed in range(part * each, (part + 1) * each):
        for left in path.parent.glob("chats*.db*"):
            left.unlink()
        path.write_bytes(healthy)
        async with open_store(path) as store:
            whole = await texts_of(store)
        kind, broken = damage(healthy, seed)
        path.write_bytes(broken)
        async with open_store(path) as store:
            assert store.saves, (seed, kind, store.notice)
            notice, found = store.notice, await texts_of(store)
            await save_chat(store, "goes on")
        short = {text for text in whole if len(text) < PAGE}
        readable = {text for text in short if f'"{text}"'.encode() in broken}
        assert readable <= found.keys(), (seed, kind)
        kept = list(path.parent.glob("chats-damaged-*.db"))
        if notice is None:
            assert (found, kept) == (whole, []), (seed, kind)
        else:
            assert [file.read_bytes() for file in kept] == [broken], (seed, kind)
            assert str(kept[0]) in notice
        if kind in {"index", "inner table", "header"}:
            assert found == whole, (seed, kind)
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        assert rows(path, "PRAGMA foreign_key_check") == []


def test_the_pages_of_a_sound_database_give_its_rows_and_no_deleted_ones(
    path: Path, healthy: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(healthy)
    for table, names in (("conversations", CONVERSATION), ("messages", MESSAGE)):
        found = [
            (number, *values[1:])
            for number, values in read_rows(path, Layout(PAGE, 0))
            if len(values) == len(names)
            if (values[3] == "question") == (table == "conversations")
        ]
        assert sorted(found) == sorted(rows(path, f"SELECT {', '.join(names)} FROM {table}"))


async def test_branches_settings_and_titles_come_out_as_they_were(path: Path) -> None:
    async with open_store(path) as store:
        chat = await save_chat(store, "one", "two")
        journal = store.journal(SETTINGS, await store.load(chat))
        journal.rewind(2)
        await journal.begin(asked("other"))
        await store.rename(chat, "My chat")
        before = [await store.load(chat, end.leaf_id) for end in (await store.load(chat)).branches]
    with path.open("r+b") as file:
        file.write(b"nonsense")
    async with open_store(path) as store:
        (listed,) = await store.list()
        after = [await store.load(chat, end.leaf_id) for end in (await store.load(chat)).branches]
        assert "1 chat with 5 messages were saved" in str(store.notice)
    assert listed.title == "My chat"
    assert [(one.history, one.settings) for one in after] == [
        (one.history, one.settings) for one in before
    ]


async def test_what_cannot_be_copied_now_stays_where_it_is_and_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(path) as store:
        await save_chat(store, "kept")
    broken = b"x" * 16 + path.read_bytes()[16:]
    path.write_bytes(broken)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("ollm_tui.store.connect.make_file", full)
        async with open_store(path) as store:
            assert not store.saves
            assert "No space left" in str(store.notice)
            assert [chat.title for chat in await store.list()] == ["kept"]
    assert path.read_bytes() == broken
    async with open_store(path) as store:
        assert store.saves
        assert [chat.title for chat in await store.list()] == ["kept"]


async def test_a_log_whose_database_is_gone_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ollm_tui.store.connect.SAFE_WAL", (3, 0, 0))
    async with open_store(path) as store:
        await save_chat(store, "in the log")
        log = path.with_name("chats.db-wal").read_bytes()
    for file in path.parent.glob("chats.db*"):
        file.unlink()
    path.with_name("chats.db-wal").write_bytes(log)
    async with open_store(path) as store:
        assert "is gone" in str(store.notice)
        assert [chat.title for chat in await store.list()] == ["in the log"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(24))
async def test_a_broken_frame_of_the_log_hides_no_message_that_stands_behind_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("ollm_tui.store.connect.SAFE_WAL", (3, 0, 0))
    chance = random.Random(seed)
    async with open_store(path) as store:
        for number in range(6):
            await save_chat(store, *(f"<{number}.{turn} {'x' * 200}>" for turn in range(3)))
        whole = await texts_of(store)
        content, log = path.read_bytes(), bytearray(path.with_name("chats.db-wal").read_bytes())
    at = 32 + chance.randrange((len(log) - 32) // (PAGE + 24)) * (PAGE + 24)
    match seed % 4:
        case 0:
            log[at : at + 24 + PAGE] = chance.randbytes(24 + PAGE)
        case 1:
            log[at + chance.randrange(8, 24 + PAGE)] ^= 1  # not which page it is
        case 2:
            log[:32] = chance.randbytes(32)
        case _:  # as after a crash: the end was never written
            del log[at + chance.randrange(24 + PAGE) :]
    for file in path.parent.glob("chats.db*"):
        file.unlink()
    path.write_bytes(content)
    path.with_name("chats.db-wal").write_bytes(log)
    async with open_store(path) as store:
        found, notice = await texts_of(store), store.notice
    present = {text for text in whole if f'"{text}"'.encode() in log}
    if seed % 4 == 3:
        assert (notice, found.keys() - whole.keys()) == (None, set())
        return
    lost = present - found.keys()
    assert len(lost) <= (seed % 4 == 1)  # a bit may break the newest form of one message
    if notice is None:  # nothing stood behind it
        assert at + 24 + PAGE >= len(log) - 4 * (24 + PAGE)
    else:
        assert [file.read_bytes() for file in path.parent.glob("chats-damaged-*-wal")] == [log]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
async def test_a_broken_journal_of_a_program_that_was_killed_loses_nothing_saved_before(
    path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    async with open_store(path) as store:
        for number in range(6):
            await save_chat(store, *(f"<{number}.{turn} {'x' * 200}>" for turn in range(3)))
        whole = await texts_of(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as killed:
        killed.execute("PRAGMA cache_size = 2")  # pages go to the file before the commit
        killed.execute("BEGIN")
        killed.execute("UPDATE messages SET updated_ms = updated_ms + 1")
        content = path.read_bytes()
        journal = bytearray(path.with_name("chats.db-journal").read_bytes())
        killed.execute("ROLLBACK")
    at = chance.randrange(len(journal))
    journal[at : at + chance.choice([1, 28, 600, PAGE])] = b""
    path.write_bytes(content)
    path.with_name("chats.db-journal").write_bytes(journal)
    async with open_store(path) as store:
        assert store.saves
        assert await texts_of(store) == whole


async def test_damage_that_was_met_in_a_large_file_is_mended_at_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ollm_tui.store.connect.CHECKED_BYTES", 0)
    async with open_store(path) as store:
        for number in range(20):
            await save_chat(store, *(f"{number}.{turn} {'x' * 300}" for turn in range(5)))
        whole = await texts_of(store)
    content = bytearray(path.read_bytes())
    for page in pages_of(bytes(content), "index"):
        content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    path.write_bytes(content)
    async with open_store(path) as store:
        assert store.notice is None
        with pytest.raises(Exception, match="damaged"):
            await store.journal(SETTINGS).begin(asked("new"))
    async with open_store(path) as store:
        assert "were saved" in str(store.notice)
        assert await texts_of(store) == whole
    async with open_store(path) as store:
        assert store.notice is None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(40))
def test_pages_of_chance_give_no_fault(path: Path, healthy: bytes, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(healthy[: PAGE * 12])
    for _ in range(400):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.parent.mkdir()
    path.write_bytes(content[: chance.randrange(len(content))])
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, shipped_migrations(), None)
        saved = salvage(path, connection)
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (saved.messages,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
