"""Daily copies of the saved chats: which are made, which are kept, and one restored."""

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.private_file import open_lock, try_lock
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import open_store
from ollm_tui.store.copies.daily import DailyCopies
from ollm_tui.store.copies.files import (
    DAYS,
    WEEKS,
    DailyCopy,
    Stopped,
    copies_folder,
    kept_days,
    listed_copies,
    make_copy,
)
from ollm_tui.store.copies.restoring import Counts, counts_of, restore
from ollm_tui.store.files import Instances
from tests.store.rig import save_chat

TODAY = date(2026, 11, 24)
ROOT = Path(__file__).parents[3]


def never() -> bool:
    return False


async def add_chats(path: Path, *texts: str) -> None:
    async with open_store(path) as store:
        for text in texts:
            await save_chat(store, text)


@pytest.fixture
async def chats(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "chats.db"
    await add_chats(path, "first", "second")
    return path


def copied(path: Path, day: date = TODAY) -> DailyCopy:
    made = make_copy(path, day, never)
    assert made is not None
    return made


async def test_a_copy_is_made_once_a_day_and_only_for_its_owner(chats: Path) -> None:
    made = copied(chats)
    assert counts_of(made.path) == Counts(2, 4)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert make_copy(chats, TODAY, never) is None
    copied(chats, TODAY + timedelta(1))
    assert [one.day.day for one in listed_copies(chats)] == [25, 24]


async def test_a_copy_made_before_a_migration_goes_with_the_daily_copies(chats: Path) -> None:
    """It stays while a copy of its day would: a week, then as the last one of its week."""
    before = chats.with_name("chats-before-7.db")
    shutil.copy(chats, before)
    noon = datetime.combine(TODAY, time(12)).timestamp()
    os.utime(before, (noon, noon))
    for other in ("chats-before-7.db.part", "mine-before-7.db", "chats-before-it.db"):
        chats.with_name(other).touch()
    for number in range(1, DAYS + 1):
        copied(chats, TODAY + timedelta(number))
        assert before.exists() == (number < DAYS), number
    assert len([*chats.parent.glob("*-before-*")]) == 3


async def test_a_copy_is_made_while_the_store_is_open(chats: Path) -> None:
    async with open_store(chats) as store:
        await save_chat(store, "third")
        made = await anyio.to_thread.run_sync(copied, chats)
        await save_chat(store, "fourth")
    assert counts_of(made.path).chats == 3


def test_no_store_and_an_empty_one_have_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    assert make_copy(path, TODAY, never) is None
    assert not copies_folder(path).exists()
    anyio.run(add_chats, path)
    assert make_copy(path, TODAY, never) is None
    assert listed_copies(path) == []


async def test_two_programs_make_one_copy(chats: Path) -> None:
    folder = copies_folder(chats)
    folder.mkdir()
    descriptor = open_lock(folder / "lock")
    assert try_lock(descriptor)
    assert make_copy(chats, TODAY, never) is None


async def test_a_disk_that_is_nearly_full_gets_no_copy(
    chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=400_000_000))
    assert make_copy(chats, TODAY, never) is None


async def test_a_damaged_store_is_not_copied_and_no_copy_is_removed(chats: Path) -> None:
    for day in range(DAYS + 2):
        copied(chats, TODAY - timedelta(DAYS + 2 - day))
    before = listed_copies(chats)
    content = bytearray(chats.read_bytes())
    content[4096 : 4096 * 6] = b"\xff" * (4096 * 5)
    chats.write_bytes(content)
    with suppress(sqlite3.Error):
        assert make_copy(chats, TODAY, never) is None
    assert listed_copies(chats) == before


async def test_a_stopped_copy_leaves_nothing(chats: Path) -> None:
    with pytest.raises(Stopped):
        make_copy(chats, TODAY, lambda: True)
    assert [file.name for file in copies_folder(chats).iterdir()] == ["lock"]


async def test_what_a_killed_program_left_is_no_copy_and_is_replaced(chats: Path) -> None:
    folder = copies_folder(chats)
    folder.mkdir()
    (folder / f"chats-{TODAY}.db.part").write_text("half")
    (folder / "chats-notes.db").write_text("of a person")
    assert listed_copies(chats) == []
    copied(chats)
    assert sorted(file.name for file in folder.iterdir()) == [
        "chats-2026-11-24.db",
        "chats-notes.db",
        "lock",
    ]


@given(st.sets(st.dates(date(2026, 1, 1), date(2026, 12, 31)), max_size=60))
def test_the_newest_days_and_the_last_of_each_week_are_kept(days: set[date]) -> None:
    kept = kept_days(days)
    newest = sorted(days, reverse=True)
    assert kept <= days
    assert set(newest[:DAYS]) <= kept
    assert len(kept) <= DAYS + WEEKS
    weeks = {day.isocalendar()[:2] for day in newest}
    assert len({day.isocalendar()[:2] for day in kept}) >= min(WEEKS, len(weeks))
    assert kept_days(kept) == kept


def test_a_copy_each_day_leaves_copies_of_four_weeks() -> None:
    days: set[date] = set()
    for day in range(90):
        days = kept_days({*days, TODAY + timedelta(day)})
    last = max(days)
    assert sum(last - day < timedelta(7) for day in days) == 7
    assert timedelta(19) < last - min(days) < timedelta(29)


async def test_the_app_looks_after_a_while_and_stops_with_it(chats: Path) -> None:
    async with anyio.create_task_group() as group:
        copies = DailyCopies(chats, group, lambda: TODAY)
        copies.start(first_look_s=0)
        with anyio.fail_after(20):
            while not listed_copies(chats):
                await anyio.sleep(0.005)
        copies.stop()
        group.cancel_scope.cancel()


async def test_a_copy_that_fails_is_only_logged(
    chats: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies_folder(chats).write_text("in the way")
    async with anyio.create_task_group() as group:
        await DailyCopies(chats, group, lambda: TODAY).make()
    assert "could not be copied" in caplog.text


async def test_a_copy_is_restored_and_the_present_chats_are_kept(chats: Path) -> None:
    made = copied(chats)
    await add_chats(chats, "third")
    aside = restore(chats, made, "me")
    assert aside is not None
    assert aside.name.startswith("chats-replaced-")
    assert counts_of(chats).chats == 2
    assert counts_of(aside).chats == 3
    async with open_store(chats) as store:
        assert store.notice is None
        await save_chat(store, "fourth")
    assert counts_of(chats).chats == 3


async def test_a_store_that_is_gone_or_damaged_is_restored_too(chats: Path) -> None:
    made = copied(chats)
    chats.unlink()
    assert restore(chats, made, "me") is None
    chats.write_bytes(b"nothing of ours" * 1000)
    aside = restore(chats, made, "me")
    assert aside is not None
    assert aside.read_bytes().startswith(b"nothing of ours")
    assert counts_of(chats).chats == 2


@pytest.fixture
def other(chats: Path) -> Iterator[Instances]:
    other = Instances(chats, "other")
    other.join()
    yield other
    other.leave()


async def test_a_store_in_use_is_not_replaced(chats: Path, other: Instances) -> None:
    made = copied(chats)
    with pytest.raises(AIError) as refused:
        restore(chats, made, "me")
    assert refused.value.code is ErrorCode.CONFLICT
    assert counts_of(chats).chats == 2


async def test_a_damaged_copy_and_one_of_a_newer_version_are_refused(chats: Path) -> None:
    made = copied(chats)
    with closing(sqlite3.connect(made.path)) as connection:
        connection.execute("PRAGMA user_version = 9000")
    with pytest.raises(AIError, match="a newer version"):
        restore(chats, made, "me")
    made.path.write_bytes(b"SQLite format 3\0" + b"\xff" * 50_000)
    with pytest.raises(AIError):
        restore(chats, made, "me")
    assert counts_of(chats).chats == 2
    assert not list(chats.parent.glob("*replaced*"))


RESTORING = """
import signal, sys
from pathlib import Path
from ollm_tui.store.copies.files import listed_copies
from ollm_tui.store.copies.restoring import restore
path = Path(sys.argv[1])
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
while True:
    restore(path, listed_copies(path)[0], "child")
"""


@pytest.mark.parametrize("seed", range(3))
async def test_a_kill_leaves_the_one_or_the_other(chats: Path, seed: int) -> None:
    copied(chats)
    after_s = str(random.Random(seed).uniform(0.001, 0.2))
    argv = [sys.executable, "-c", RESTORING, str(chats), after_s]
    # its timer ends it at once, as a kill does
    done = subprocess.run(argv, cwd=ROOT, check=False, timeout=60)
    assert done.returncode == -signal.SIGALRM
    async with open_store(chats) as store:
        assert store.notice is None
    assert counts_of(chats) == Counts(2, 4)
