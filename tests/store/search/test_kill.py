"""Indexing continues where kill -9 ended it, and no message is lost or indexed twice."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui.store.conversations import open_store
from ollm_tui.store.search.index_file import IndexPlace
from tests.store.rig import SETTINGS, asked, rows
from tests.store.search.rig import by_index, by_reading, update

ROOT = Path(__file__).parents[3]
MESSAGES = 120
SEARCHES = ("word", "even", "odd", "w* n7")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
async def test_indexing_survives_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "chats.db", random.Random(seed)
    async with open_store(path) as store:
        journals = [store.journal(SETTINGS) for _ in range(3)]
        for number in range(MESSAGES):
            text = f"word {'odd' if number % 2 else 'even'} n{number}"
            await journals[number % 3].begin(asked(text))
        for round_number in range(2):
            slices = index_until_killed(path, chance.randrange(1, 8), chance.uniform(0, 0.02))
            assert slices
            if round_number == 0:
                await store.delete(journals[0].conversation_id)
    assert rows(IndexPlace(path).index, "PRAGMA integrity_check") == [("ok",)]
    before = rows(IndexPlace(path).index, "SELECT count(*) FROM messages")[0][0]
    assert isinstance(before, int)
    done = update(path)
    assert done <= MESSAGES - before + len(journals)
    for search in SEARCHES:
        assert by_index(path, search) == by_reading(path, search)
    assert len(by_index(path, "word")) == MESSAGES * 2 // 3


def index_until_killed(path: Path, slices: int, later_s: float) -> int:
    command = [sys.executable, "-m", "tests.store.search.killing", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = 0
        for _ in program.stdout:
            lines += 1
            if lines == slices:
                try:
                    program.wait(later_s)
                except subprocess.TimeoutExpired:
                    program.send_signal(signal.SIGKILL)
                break
        return lines
