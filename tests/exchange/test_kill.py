"""kill -9 during an import leaves whole chats only, and the import can be repeated."""

import random
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.store.conversations import open_store
from tests.exchange import samples

ROOT = Path(__file__).parents[2]
CHATS = 600
MESSAGES = 6
"""Of each chat; its thinking is part of an answer."""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    many = [samples.chatgpt(f"conv-{number}") for number in range(CHATS)]
    return samples.written(tmp_path_factory.mktemp("export") / "conversations.json", many)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_a_kill_leaves_whole_chats_only(seed: int, export: Path, tmp_path: Path) -> None:
    chance, store = random.Random(seed), tmp_path / "chats.db"
    command = [sys.executable, "-m", "tests.exchange.importing_program", str(store), str(export)]
    batches = chance.randrange(1, 7)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        acknowledged = 0
        for _ in range(batches):
            acknowledged = int(program.stdout.readline())
        timer = threading.Timer(chance.uniform(0, 0.05), program.kill)
        timer.start()
        for line in program.stdout:
            if line.endswith("\n"):
                acknowledged = int(line)
        timer.join()
    async with open_store(store) as opened:
        chats = await opened.list(limit=2 * CHATS)
        assert acknowledged <= len(chats) <= CHATS
        assert {(one.total_messages, one.message_count) for one in chats} <= {(MESSAGES, 5)}
        result = ImportResult()
        await import_files([export], opened.records, lambda *_: None, result)
        assert (result.unchanged, result.chats) == (len(chats), CHATS - len(chats))
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        counted = connection.execute("SELECT count(*) FROM messages").fetchone()
        assert counted == (CHATS * MESSAGES,)
