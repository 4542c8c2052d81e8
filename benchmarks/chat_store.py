"""A store of 10,000 chats and 1,000,000 messages: start, list, search, and saving beside its index.

    python -m benchmarks.chat_store [FOLDER [STEP...]]

A FOLDER keeps the store (1.5 GB, and its index) for the next run, which then need not make it; the
steps are `start`, `list`, `search` and `saves`. The reference of a start is an empty store, that of
a search FTS5 of the same SQLite on the tables of the same index, which returns numbers only, and
that of a save the same store without a search that indexes.

A delay of the event loop in which the program did not work is the machine's.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import anyio

from benchmarks.big_store import SEED, make_store
from benchmarks.chat_search import PAGE, alone, shown
from benchmarks.stalls import Stalls, watched_loop
from benchmarks.startup import OLLM, time_to_prompt
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import FILE_NAME, ConversationStore, open_store
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.rows import ConversationSettings
from ollm_tui.store.search.index_file import IndexPlace, open_for_reading
from ollm_tui.store.search.indexer import indexing
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.search.service import LOOK_EVERY_S, ChatSearch

STEPS: Final = ("start", "list", "search", "saves")
STARTS: Final = 15
START_LIMIT: Final = 1.1
LISTS: Final = 40
LIST_MS: Final = 100.0
SEARCHES: Final = 60
FIRST_MS: Final = 50.0
FURTHER_MS: Final = 30.0
STALL_MS: Final = 50.0
BLOCKS: Final = 8
SAVES_OF_A_BLOCK: Final = 60
SAVE_APART_S: Final = 0.1
SAVE_LIMIT: Final = 1.1
MEMORY_MB: Final = 50.0


class Figures:
    """What was measured, and what is over its limit."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def add(self, name: str, value: float, limit: float, unit: str = " ms") -> None:
        """Print a figure beside its limit."""
        is_met = value <= limit
        verdict = "ok" if is_met else "MISSED"
        print(f"  {name:34} {value:8.2f}{unit}   limit {limit:g}{unit}  {verdict}")
        if not is_met:
            self.missed.append(name)


def p95(values: Sequence[float]) -> float:
    """Return the value that one in twenty is above, in milliseconds."""
    return sorted(values)[int(len(values) * 0.95)] * 1000


def measure_start(folder: Path, figures: Figures) -> None:
    """Start the app in turn with an empty store and with the big one."""
    with tempfile.TemporaryDirectory() as place:
        homes = [Path(place) / name for name in ("empty", "big")]
        for home in homes:
            (home / "data").mkdir(parents=True)
        (homes[1] / "data" / "ollm").symlink_to(folder.resolve())
        times: list[list[float]] = [[], []]
        for number in range(STARTS + 1):
            for home, taken in zip(homes, times, strict=True):
                took = time_to_prompt(OLLM, home)
                if number:  # the first ones fill the caches
                    taken.append(took)
    empty, big = times
    ratio = statistics.median(b / e for e, b in zip(empty, big, strict=True))
    print(
        f"start: empty store {statistics.median(empty):.3f} s, big {statistics.median(big):.3f} s"
    )
    figures.add("start, of an empty store's", ratio, START_LIMIT, " times")


def resident_mb() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure_list(path: Path, figures: Figures) -> None:
    """Open the store and list its newest chats, a page in the middle, and all."""
    before, began = resident_mb(), time.perf_counter()
    async with open_store(path) as store:
        await store.list()
        print(f"store: opened and listed in {(time.perf_counter() - began) * 1000:.0f} ms")
        async with watched_loop() as stalls:
            pages = [await _timed(store, 50, random.randrange(5_000)) for _ in range(LISTS)]
        print(f"  {stalls}")
        figures.add("a page of 50 chats, p95", p95(pages), LIST_MS)
        print(f"  {'the list of all chats':34} {await _timed(store, 10_000, 0) * 1000:8.2f} ms")
        figures.add("memory", resident_mb() - before, MEMORY_MB, " MB")


async def _timed(store: ConversationStore, limit: int, offset: int) -> float:
    began = time.perf_counter()
    await store.list(limit=limit, offset=offset)
    return time.perf_counter() - began


async def measure_search(path: Path, words: Sequence[str], figures: Figures) -> None:
    """Type searches of one to three words letter by letter."""
    chance, search = random.Random(SEED + 1), ChatSearch(path)
    first: list[float] = []
    further: list[float] = []
    reference: list[float] = []
    ratios: list[float] = []
    worked: list[float] = []
    slowest = (0.0, "")
    with closing(open_for_reading(IndexPlace(path).index)) as index:
        stalls = Stalls()
        for _ in range(SEARCHES):
            # Of frequent and of rare words.
            chosen = [words[int(len(words) ** chance.random())] for _ in range(3)]
            text = " ".join(chosen[: chance.randrange(1, 4)])
            for end in range(2, len(text) + 1):
                query = parse_query(text[:end], is_typing=True)
                async with watched_loop() as here:
                    began, before = time.perf_counter(), time.process_time()
                    await search.search(query, limit=PAGE)
                    took = time.perf_counter() - began
                    worked.append(time.process_time() - before)
                stalls.join(here)
                (first if end == 2 else further).append(took)
                slowest = max(slowest, (took, text[:end]))
                reference.append(alone(index, query))
                ratios.append(took / reference[-1])
    await search.close()
    print(f"search: {len(first)} searches, {len(further)} further letters")
    print(f"  {shown('first results', first)}")
    print(f"  {shown('each further letter', further)}   {slowest[1]!r}")
    print(f"  {shown('of them processor time', worked)}")
    print(f"  {shown('FTS5 alone', reference)}")
    print(f"  {stalls}")
    figures.add("first results, p95", p95(first), FIRST_MS)
    figures.add("each further letter, p95", p95(further), FURTHER_MS)
    figures.add("longest time the loop was held", stalls.longest_work * 1000, STALL_MS)
    print(f"  {'all letters, of FTS5 alone':34} {statistics.median(ratios):8.2f} times")


async def measure_saves(path: Path, figures: Figures) -> None:
    """Save in turn beside a search that keeps its index and without one."""
    times: dict[bool, list[float]] = {True: [], False: []}
    worked: dict[bool, float] = {True: 0.0, False: 0.0}
    async with open_store(path) as store, watched_loop() as stalls:
        for block in range(2 * BLOCKS):
            is_kept = block % 2 == 1
            search = ChatSearch(path, first_look_s=0) if is_kept else None
            if search is not None:
                search.start()
            journal = store.journal(ConversationSettings(model="local://tiny"))
            before = time.process_time()
            for number in range(SAVES_OF_A_BLOCK):
                times[is_kept].append(await _save(journal, number))
                await anyio.sleep(SAVE_APART_S)
            worked[is_kept] += time.process_time() - before
            if search is not None:
                await search.close()
    saves = BLOCKS * SAVES_OF_A_BLOCK
    print(f"saves: {saves} questions with answers each way, an index pass each {LOOK_EVERY_S:g} s")
    print(f"  {shown('a save, no index', times[False])}")
    print(f"  {shown('a save, index kept', times[True])}")
    cost = (worked[True] - worked[False]) / saves * 1000
    print(f"  {'processor time of the index':34} {cost:8.2f} ms a question with its answer")
    print(f"  {stalls}")
    medians = {kept: statistics.median(its) for kept, its in times.items()}
    figures.add(
        "a save, of one without index", medians[True] / medians[False], SAVE_LIMIT, " times"
    )
    figures.add("longest time the loop was held", stalls.longest_work * 1000, STALL_MS)


async def _save(journal: ConversationJournal, number: int) -> float:
    began = time.perf_counter()
    await journal.begin(Message("user", f"question {number}"))
    answer = await journal.begin(Message("assistant", "w"))
    await journal.finish(answer, Message("assistant", "word " * 200))
    return time.perf_counter() - began


async def measure(folder: Path, steps: Sequence[str]) -> Figures:
    """Make the store and take the steps."""
    figures, path = Figures(), folder / FILE_NAME
    words = await make_store(path)
    began = time.perf_counter()
    with indexing(IndexPlace(path)) as indexer:
        assert indexer is not None
        done = sum(indexer.run())
    print(f"indexed {done:,} messages in {time.perf_counter() - began:.1f} s")
    sizes = [file.stat().st_size / 1e6 for file in (path, IndexPlace(path).index)]
    print(f"chats {sizes[0]:,.0f} MB, index {sizes[1]:,.0f} MB, load {os.getloadavg()[0]:.1f}")
    if "start" in steps:
        await anyio.to_thread.run_sync(measure_start, folder, figures)
    if "list" in steps:
        await measure_list(path, figures)
    if "search" in steps:
        await measure_search(path, words, figures)
    if "saves" in steps:
        await measure_saves(path, figures)
    return figures


def main() -> int:
    """Measure, and fail when a limit is passed."""
    steps = sys.argv[2:] or STEPS
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        figures = anyio.run(measure, Path(sys.argv[1]), steps)
    else:
        with tempfile.TemporaryDirectory() as made:
            figures = anyio.run(measure, Path(made), steps)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
