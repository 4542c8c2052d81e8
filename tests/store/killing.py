"""A program that saves chats until it is killed, and a look at what it leaves behind.

    python -m tests.store.killing FILE SEED

The program prints a line for whatever it would have shown as saved, and for each word of an answer
it would have shown, with the time of `time.perf_counter`, which is one for all processes.
`kill_once` ends it at a seeded moment and compares; every tenth time it is killed while it starts.
"""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.rows import ConversationSettings, StoredConversation

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 1.5


@dataclass
class Shown:
    """What the killed program said."""

    saved: dict[str, str] = field(default_factory=dict)
    """Text of each message said to be saved, by id."""
    words: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    """When how many words of an answer were shown."""
    deleted: set[str] = field(default_factory=set)
    chat_of: dict[str, str] = field(default_factory=dict)


@dataclass
class Verdict:
    """What one kill did."""

    lost: list[str]
    """Messages that were said to be saved and are not there, or not as they were."""
    lag_s: float
    """Age of the oldest word of the stream that is lost."""
    reopen_s: float
    integrity: str
    acknowledged: int
    state: str


def say(*parts: object) -> None:
    sys.stdout.write(" ".join(map(str, parts)) + "\n")
    sys.stdout.flush()


async def write_until_killed(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with open_store(path) as store:
        say("READY", store.saves)
        journal = store.journal(ConversationSettings(model="local://tiny"))
        while True:
            if chance.random() < 0.3:
                journal = store.journal(ConversationSettings(model="local://tiny"))
            await one_exchange(journal, chance)
            if chance.random() < 0.2:
                await delete_oldest(store)


async def one_exchange(journal: ConversationJournal, chance: random.Random) -> None:
    chat = journal.conversation_id
    question = await journal.begin(Message("user", f"q{chance.random()}"))
    say("SAVED", chat, question, "-")
    count = chance.randrange(20, 80)
    answer = await journal.begin(Message("assistant", "w"))
    say("WORDS", answer, time.perf_counter(), 1)
    for number in range(2, count):
        await anyio.sleep(0.005)
        await journal.update(answer, Message("assistant", " ".join(["w"] * number)))
        say("WORDS", answer, time.perf_counter(), number)
    await journal.finish(answer, Message("assistant", " ".join(["w"] * count)))
    say("SAVED", chat, answer, count)


async def delete_oldest(store: ConversationStore) -> None:
    chats = await store.list()
    if len(chats) > 3:
        say("DELETING", chats[-1].id)
        await store.delete(chats[-1].id)


def kill_once(path: Path, seed: int) -> Verdict:
    """Run the program, kill it at a moment drawn from the seed, and look at the file."""
    command = [sys.executable, "-m", "tests.store.killing", str(path), str(seed)]
    lines, killed_at = run_and_kill(command, seed)
    return anyio.run(judge, path, understood(lines), killed_at)


def run_and_kill(
    command: list[str], seed: int, max_seconds: float = MAX_SECONDS
) -> tuple[list[str], float]:
    """Kill a program after its first line, each tenth while it starts; return its lines and when.

    The moment is drawn from the seed.
    """
    chance = random.Random(seed)
    lines: list[str] = []
    ready = threading.Event()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:

        def read() -> None:
            assert program.stdout is not None
            for line in program.stdout:
                lines.append(line)
                ready.set()
            ready.set()

        reader = threading.Thread(target=read)
        reader.start()
        if seed % 10:
            ready.wait(20)
            time.sleep(chance.uniform(0.0, max_seconds))
        else:
            time.sleep(chance.uniform(0.1, 0.6))
        ended = program.poll()
        killed_at = time.perf_counter()
        program.send_signal(signal.SIGKILL)
        reader.join()
    assert ended is None, f"it ended by itself with status {ended}"
    return lines, killed_at


def understood(lines: list[str]) -> Shown:
    shown = Shown()
    for line in lines:
        match line.split():
            case ["SAVED", chat, message, count] if line.endswith("\n"):
                shown.saved[message] = count
                shown.chat_of[message] = chat
            case ["WORDS", message, moment, count] if line.endswith("\n"):
                shown.words.setdefault(message, []).append((float(moment), int(count)))
            case ["DELETING", chat]:
                shown.deleted.add(chat)
            case _:
                pass
    return shown


async def judge(path: Path, shown: Shown, killed_at: float) -> Verdict:
    integrity, started = "no file", time.monotonic()
    async with open_store(path) as store:
        chats: list[StoredConversation] = []
        summaries = await store.list(limit=1000)
        reopen_s = time.monotonic() - started
        for summary in summaries:
            chats.append(await store.load(summary.id))
        notices = [store.notice] if store.notice else []
    with closing(sqlite3.connect(path)) as connection:
        integrity = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    found = {m.id: m for chat in chats for m in chat.messages}
    lost = [*notices, *missing(found_counts(chats), shown)]
    lag_s = max(
        (
            age(words, len(found[m].message.text.split()) if m in found else 0, killed_at)
            for m, words in shown.words.items()
            if m not in shown.saved
        ),
        default=0.0,
    )
    newest = [found[m].state for m in shown.words if m in found and m not in shown.saved]
    return Verdict(
        lost=[str(text) for text in lost],
        lag_s=lag_s,
        reopen_s=reopen_s,
        integrity=integrity,
        acknowledged=len(shown.saved),
        state=newest[-1] if newest else "",
    )


def found_counts(chats: list[StoredConversation]) -> dict[str, int]:
    return {m.id: len(m.message.text.split()) for chat in chats for m in chat.messages}


def missing(found: dict[str, int], shown: Shown) -> list[str]:
    """Give what was said to be saved and is not there whole."""
    return [
        message
        for message, count in shown.saved.items()
        if shown.chat_of[message] not in shown.deleted
        if message not in found or (count != "-" and found[message] != int(count))
    ]


def age(words: list[tuple[float, int]], kept: int, killed_at: float) -> float:
    """Give how long before the kill the first lost word was shown; 0 when none is lost."""
    return max((killed_at - moment for moment, count in words if count > kept), default=0.0)


if __name__ == "__main__":
    anyio.run(write_until_killed, Path(sys.argv[1]), int(sys.argv[2]))
