"""Kill a program at a moment drawn from a seed, and have what it left judged."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from ollm_tui.store.conversations import open_store
from tests.store import killing as saving
from tests.store.kills.judges import JUDGES, unsound
from tests.store.kills.telling import Line, of, understood
from tests.store.rig import SETTINGS, answered, asked, make_old, miscounted, reached, save_chat

MAX_SECONDS = 1.0
OLD_CHATS = 60
MOMENTS = ("saving", "branching", *JUDGES)


@dataclass(frozen=True)
class Verdict:
    """What one kill did."""

    problems: list[str]
    acknowledged: int
    """Acts of which the program had said that they were done."""
    reopen_s: float
    lag_s: float = 0.0
    """Age of the oldest word of a stream that is lost."""


def prepare(moment: str, folder: Path) -> None:
    """Make what the program of a moment begins with, if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    if moment == "migrating" and not (folder / "old.db").exists():
        make_old(folder / "old.db", 1, OLD_CHATS, 20)
    if moment == "exporting" and not (folder / "chats.db").exists():
        anyio.run(_make_chats, folder / "chats.db")


async def _make_chats(path: Path) -> None:
    async with open_store(path) as store:
        for chat in range(4):
            await save_chat(store, *(f"{chat}.{turn} *word* " * 200 for turn in range(8)))
        journal = store.journal(SETTINGS, await store.load((await store.list())[0].id))
        journal.rewind(3)
        await journal.finish(await journal.begin(asked("other")), answered("<b>other</b>"))


def kill_once(moment: str, folder: Path, seed: int) -> Verdict:
    """Run the program of a moment, kill it, and judge what is left."""
    prepare(moment, folder)
    if moment == "saving":
        seen = saving.kill_once(folder / "chats.db", seed)
        whole = [] if seen.integrity == "ok" else [seen.integrity]
        return Verdict([*seen.lost, *whole], seen.acknowledged, seen.reopen_s, seen.lag_s)
    if moment == "branching":
        command = ["tests.store.two_writers", str(folder / "chats.db"), str(seed)]
    else:
        command = ["tests.store.kills.program", moment, str(folder), str(seed)]
    lines, _ = saving.run_and_kill([sys.executable, "-m", *command], seed, MAX_SECONDS)
    return anyio.run(_judge, moment, folder, lines)


async def _judge(moment: str, folder: Path, lines: list[str]) -> Verdict:
    path, started = folder / "chats.db", time.monotonic()
    problems: list[str] = []
    async with open_store(path) as store:
        await store.list()
        reopen_s = time.monotonic() - started
        if store.notice is not None or not store.saves:
            problems.append(f"after the kill: {store.notice}")
        if moment == "branching":
            told: list[Line] = [
                {
                    "what": "saved",
                    "message": line.split()[2],
                    "text": line.split(maxsplit=3)[3].strip(),
                }
                for line in lines
                if line.startswith("SAVED") and line.endswith("\n")
            ]
            there = await reached(store)
            lost = [one for one in told if there.get(one["message"]) != one["text"]]
            problems += [f"{one['text']} is on no branch" for one in lost]
        else:
            told = [*understood(lines)]
            problems += [problem async for problem in JUDGES[moment](folder, store, told)]
    if problem := unsound(path):
        problems.append(problem)
    problems += [f"counts of {chat}" for chat in miscounted(path)]
    done = ("saved", "imported", "migrated", "done", "purged", "compacted", "written", "copied")
    return Verdict(problems, sum(len(of(told, what)) for what in done), reopen_s)
