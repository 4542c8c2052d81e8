"""Two programs write one chat: both branches are kept, listed and told of."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ollm_tui.store.conversations import open_store
from tests.store.rig import reached, rows, save_chat
from tests.store.two_writers import interleave
from tests.support.seeds import in_parts

INTERLEAVINGS = 500
PARTS = 10


@pytest.mark.slow
@in_parts(PARTS)
async def test_nothing_that_was_reported_saved_to_two_programs_is_lost_or_hidden(
    tmp_path: Path, part: int
) -> None:
    for seed in range(part, INTERLEAVINGS, PARTS):
        path = tmp_path / f"{seed}.db"
        problems = await interleave(path, seed)
        assert problems == [], seed
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        assert rows(path, "PRAGMA foreign_key_check") == []
        lone = (
            "SELECT count(*) FROM conversations AS c WHERE leaf_id NOT IN"
            " (SELECT id FROM messages AS m WHERE m.conversation_id = c.id)"
        )
        assert rows(path, lone) == [(0,)]


ROOT = Path(__file__).parents[2]
KILLS = 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(KILLS))
async def test_two_processes_that_are_killed_have_lost_and_hidden_nothing(
    tmp_path: Path, seed: int
) -> None:
    path, chance = tmp_path / "chats.db", random.Random(seed)
    async with open_store(path) as store:
        await save_chat(store, "shared")
    lines: list[str] = []
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.two_writers", str(path), str(2 * seed + number)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    readers = [
        threading.Thread(target=read_and_kill, args=(process, chance.randrange(5, 60), lines))
        for process in processes
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    saved = {line.split()[2]: line.split(maxsplit=3)[3].strip() for line in lines}
    assert len(saved) >= 10
    async with open_store(path) as store:
        assert store.notice is None
        there = await reached(store)
    assert {one: there.get(one) for one in saved} == saved
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def read_and_kill(process: "subprocess.Popen[str]", after: int, lines: list[str]) -> None:
    """Take the lines of a program and kill it after so many; what it said before still counts."""
    with process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            if line.startswith("SAVED") and line.endswith("\n"):
                lines.append(line)
            if number == after:
                process.kill()
