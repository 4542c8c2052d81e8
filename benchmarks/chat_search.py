"""Searching all saved chats: time to the results of each letter, and the cost of the index.

    python -m benchmarks.chat_search [MESSAGES] [FOLDER]

Chats of invented words, whose frequencies fall as in a language, are written and indexed; those
that a FOLDER has already are taken. The reference of a search is FTS5 alone, on the same tables:
the numbers of the newest messages that match, without their texts. A save is a question and its
answer, each on the disk, alone and while the index is made of the same chats.
"""

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio

from benchmarks.big_store import fill, vocabulary
from benchmarks.stalls import watched_loop
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import FILE_NAME, open_store
from ollm_tui.store.rows import ConversationSettings
from ollm_tui.store.search.index_file import IndexPlace, open_for_reading, words_table
from ollm_tui.store.search.indexer import indexing
from ollm_tui.store.search.lookup import fts_expression
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.service import ChatSearch

MESSAGES = 100_000
OF_A_CHAT = 50
SEARCHES = 20
PAGE = 20
"""Results that the app lists at first."""
SAVES = 60


def alone(index: sqlite3.Connection, query: SearchQuery) -> float:
    """Return the seconds that FTS5 takes for the numbers of the newest matches."""
    began, rows = time.perf_counter(), 0
    for (shard,) in index.execute("SELECT number FROM shards ORDER BY number DESC").fetchall():
        table = words_table(shard)
        statement = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"
        rows += len(index.execute(statement, (fts_expression(query), PAGE - rows)).fetchall())
        if rows >= PAGE:
            break
    return time.perf_counter() - began


def shown(name: str, values: Sequence[float]) -> str:
    """Return median, 95th percentile and maximum in milliseconds."""
    ordered = sorted(values)
    p95 = ordered[int(len(ordered) * 0.95)]
    return (
        f"{name:24} median {statistics.median(ordered) * 1000:7.1f} ms   p95 {p95 * 1000:7.1f} ms"
        f"   longest {ordered[-1] * 1000:7.1f} ms"
    )


async def search_as_typed(path: Path, words: Sequence[str], chance: random.Random) -> None:
    """Type searches of one to three words letter by letter, and print how long each took."""
    search = ChatSearch(path)
    first: list[float] = []
    further: list[float] = []
    reference: list[float] = []
    with closing(open_for_reading(IndexPlace(path).index)) as index:
        async with watched_loop() as stalls:
            for _ in range(SEARCHES):
                # Of frequent and of rare words.
                chosen = [words[int(len(words) ** chance.random())] for _ in range(3)]
                text = " ".join(chosen[: chance.randrange(1, 4)])
                for end in range(2, len(text) + 1):
                    query = parse_query(text[:end], is_typing=True)
                    began = time.perf_counter()
                    await search.search(query, limit=PAGE)
                    (first if end == 2 else further).append(time.perf_counter() - began)
                    reference.append(alone(index, query))
    await search.close()
    print(shown("first results", first))
    print(shown("each further letter", further))
    print(shown("FTS5 alone", reference))
    print(f"{'event loop':24} {stalls}")


async def saves(path: Path, label: str) -> float:
    """Save questions and answers, and print and return how long one takes."""
    times: list[float] = []
    async with open_store(path) as store:
        journal = store.journal(ConversationSettings(model="local://tiny"))
        for number in range(SAVES):
            began = time.perf_counter()
            await journal.begin(Message("user", f"question {number}"))
            answer = await journal.begin(Message("assistant", "w"))
            await journal.finish(answer, Message("assistant", "word " * 300))
            times.append(time.perf_counter() - began)
    print(shown(label, times))
    return statistics.median(times)


async def measure(folder: Path, count: int) -> None:
    """Print all figures."""
    chance = random.Random(14)
    words = vocabulary(chance)
    path = folder / FILE_NAME
    if not path.exists():
        async with open_store(path):
            pass
        fill(path, count // OF_A_CHAT, count, chance, words)
    began, worked = time.perf_counter(), time.process_time()
    with indexing(IndexPlace(path)) as indexer:
        assert indexer is not None
        done = sum(indexer.run())
    took, worked = time.perf_counter() - began, time.process_time() - worked
    sizes = [file.stat().st_size / 1e6 for file in (path, IndexPlace(path).index)]
    print(f"indexed {done:,} messages in {took:.1f} s, {worked:.1f} s of a processor")
    print(f"chats {sizes[0]:,.0f} MB, index {sizes[1]:,.0f} MB")
    await search_as_typed(path, words, chance)
    with tempfile.TemporaryDirectory() as place:
        other = Path(place) / FILE_NAME
        await saves(other, "a save, no index")
        async with open_store(other):
            fill(other, 20_000 // OF_A_CHAT, 20_000, chance, words)
        search = ChatSearch(other, first_look_s=0)
        search.start()
        await saves(other, "a save, index being made")
        await search.update(lambda _done, _total: None)
        for number in range(3):
            await saves(other, f"a save, index kept ({number})")
        await search.close()
        for number in range(3):
            await saves(other, f"a save, no index ({number})")


if __name__ == "__main__":
    amount = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    if len(sys.argv) > 2:
        anyio.run(measure, Path(sys.argv[2]), amount)
    else:
        with tempfile.TemporaryDirectory() as made:
            anyio.run(measure, Path(made), amount)
