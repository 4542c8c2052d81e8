"""What was purged is gone from every copy too, and a copy is changed whole or not at all."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from ollm_tui.config.private_file import open_lock, try_lock
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.conversations import open_store
from ollm_tui.store.copies import files, purging
from ollm_tui.store.copies.files import Stopped, copies_folder, listed_copies, make_copy
from ollm_tui.store.copies.purging import UnchangedCopy, purge_copies, purge_with_copies
from ollm_tui.store.copies.restoring import Counts, counts_of
from tests.store.rig import make_old, miscounted, rows, save_chat

TODAY = date(2026, 11, 24)
SECRET = "pelican" * 900
"""Long enough for pages of its own."""
LATER = 1 << 60


def quiet(_number: int, _count: int) -> None:
    pass


def never() -> bool:
    return False


def holds(path: Path) -> bool:
    return b"pelicanpelican" in path.read_bytes()


async def two_chats(path: Path) -> tuple[str, str]:
    async with open_store(path) as store:
        whole = await save_chat(store, f"{SECRET} one", "plain")
        part = await save_chat(store, "kept", f"{SECRET} two", "three")
    return whole, part


async def delete(path: Path, whole: str, part: str) -> None:
    async with open_store(path) as store:
        await store.deletions.delete(whole)
        ids = [one.id for one in (await store.load(part)).messages]
        await store.deletions.delete_messages(part, ids[2])


async def purge(path: Path, report: Callable[[int, int], None] = quiet) -> list[UnchangedCopy]:
    async with open_store(path) as store:
        return list(await purge_with_copies(store.deletions, path, LATER, report))


async def test_purged_text_leaves_every_copy_whenever_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "data" / "chats.db"
    whole, part = await two_chats(path)
    make_copy(path, TODAY - timedelta(1), never)  # before the deletion
    await delete(path, whole, part)
    make_copy(path, TODAY, never)
    before, aside = path.with_name("chats-before-4.db"), path.with_name("chats-replaced-1.db")
    for file in (before, aside):
        shutil.copy(path, file)
        os.utime(file, (1_000_000, 1_000_000))
    seen: list[tuple[int, int]] = []
    assert await purge(path, lambda number, count: seen.append((number, count))) == []
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    copies = [*(one.path for one in listed_copies(path)), before, aside]
    for file in (path, *copies):
        assert not holds(file)
        assert rows(file, "PRAGMA integrity_check") == [("ok",)]
        assert miscounted(file) == []
        assert counts_of(file) == Counts(1, 2)
        left = "SELECT m.depth FROM conversations AS c JOIN messages AS m ON m.id = c.leaf_id"
        assert rows(file, left) == [(2,)]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert before.stat().st_mtime == 1_000_000  # by which it is removed one day
    assert not list(copies_folder(path).glob("*.part*"))


async def test_copies_without_the_purged_text_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "kept")
    make_copy(path, TODAY - timedelta(1), never)
    old = path.with_name("chats-before-2.db")
    make_old(old, 1, chats=2, messages=3)
    whole, part = await two_chats(path)
    await delete(path, whole, part)
    copies = (listed_copies(path)[0].path, old)
    before = [file.stat().st_ino for file in copies]
    assert await purge(path) == []
    assert [file.stat().st_ino for file in copies] == before


def test_a_copy_of_the_oldest_format_is_purged_too(tmp_path: Path) -> None:
    old = tmp_path / "chats-before-2.db"
    make_old(old, 1, chats=2, messages=3)
    copies_folder(tmp_path / "chats.db").mkdir()
    assert purge_copies(tmp_path / "chats.db", ["c0", "m1-2"], quiet, never) == ()
    assert rows(old, "SELECT id FROM messages ORDER BY id") == [("m1-0",), ("m1-1",)]


async def test_a_copy_that_cannot_be_changed_is_named_and_the_others_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chats.db"
    whole, part = await two_chats(path)
    for days in range(3):
        make_copy(path, TODAY - timedelta(days), never)
    good, damaged, foreign = (one.path for one in listed_copies(path))
    damaged.write_bytes(damaged.read_bytes()[:8192])
    foreign.write_bytes(b"no database" * 999)
    await delete(path, whole, part)
    unchanged = await purge(path)
    assert [one.path for one in unchanged] == [damaged, foreign]
    assert all("damaged" in one.reason for one in unchanged)
    assert not holds(good)
    assert not holds(path)
    with closing(sqlite3.connect(good)) as connection:
        ids = [str(one) for (one,) in connection.execute("SELECT id FROM messages")]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    [*_, full] = sorted(purge_copies(path, ids, quiet, never), key=lambda one: len(one.reason))
    assert full == UnchangedCopy(good, "there is too little room on the disk to write it anew")


@pytest.mark.parametrize("step", ["copy_pages", "remove_purged", "_require_sound", "sync_folder"])
async def test_a_purge_that_ends_early_leaves_whole_files_and_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "chats.db"
    whole, part = await two_chats(path)
    make_copy(path, TODAY, never)
    await delete(path, whole, part)

    def killed(*_arguments: object) -> None:
        raise Stopped

    [copy] = [one.path for one in listed_copies(path)]
    with monkeypatch.context() as patch:
        patch.setattr(purging, step, killed)
        patch.setattr(Path, "unlink", lambda _path, **_options: None)  # nor does it tidy up
        async with open_store(path) as store:
            with pytest.raises(Stopped):
                await purge_with_copies(store.deletions, path, LATER, quiet)
    assert holds(copy) is (step != "sync_folder")
    assert rows(copy, "PRAGMA integrity_check") == [("ok",)]
    async with open_store(path) as store:
        assert len(await store.deletions.listed()) == 2  # so that it can be repeated
    assert await purge(path) == []
    assert not holds(copy)
    assert not list(copies_folder(path).glob("*.part*"))


async def test_parts_of_a_killed_purge_go_with_the_next_copy(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    await two_chats(path)
    make_copy(path, TODAY, never)
    left = [copies_folder(path) / name for name in ("purging.part", "purging.part-journal")]
    for file in left:
        file.write_text(SECRET)
    make_copy(path, TODAY + timedelta(1), never)
    assert not any(file.exists() for file in left)


async def test_a_copy_being_made_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chats.db"
    whole, part = await two_chats(path)
    make_copy(path, TODAY, never)
    await delete(path, whole, part)
    monkeypatch.setattr(purging, "TIMEOUT_S", 0)
    held = open_lock(copies_folder(path) / files.LOCK)
    assert try_lock(held)
    with pytest.raises(AIError, match="another ollm is copying the saved chats"):
        await purge(path)
    os.close(held)
    assert holds(path)
    assert await purge(path) == []
