"""Import an export of ChatGPT of 100 MB: memory, progress, and stopping it half-way.

    python -m benchmarks.import_chats [MB]

Each import runs in a process of its own, whose memory is compared with that of an import of 1 MB.
The second one is ended half-way as by Ctrl+C, and the third continues: nothing is added twice.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import Final

import anyio

from benchmarks.big_store import SEED, vocabulary
from benchmarks.stalls import watched_loop
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.store.conversations import open_store

MEGABYTES: Final = 100
LIMIT_MB: Final = 64.0
"""More than the import of a small file takes."""
STALL_MS: Final = 100.0
ANSWERS: Final = 10
WORDS_OF_AN_ANSWER: Final = 400


def make_export(path: Path, megabytes: float) -> int:
    """Write chats as ChatGPT does until the file has its size; return how many."""
    chance = random.Random(SEED)
    words = vocabulary(chance)
    weights = list(accumulate(1 / (rank + 1) for rank in range(len(words))))
    pool = chance.choices(words, cum_weights=weights, k=200_000)
    chats = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while file.tell() < megabytes * 1e6:
            file.write(("," if chats else "") + json.dumps(_chat(chats, chance, pool)))
            chats += 1
        file.write("]")
    return chats


def _chat(number: int, chance: random.Random, pool: list[str]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    before = None
    for place in range(2 * ANSWERS):
        start = chance.randrange(len(pool) - WORDS_OF_AN_ANSWER)
        length = WORDS_OF_AN_ANSWER if place % 2 else 40
        name = f"{number}-{place}"
        mapping[name] = {
            "id": name,
            "parent": before,
            "children": [],
            "message": {
                "id": name,
                "author": {"role": "assistant" if place % 2 else "user", "metadata": {}},
                "create_time": 1.7e9 + number,
                "content": {
                    "content_type": "text",
                    "parts": [" ".join(pool[start : start + length])],
                },
                "status": "finished_successfully",
                "metadata": {},
                "recipient": "all",
            },
        }
        before = name
    return {"id": f"chat-{number}", "title": f"Chat {number}", "create_time": 1.7e9,
            "update_time": 1.7e9, "mapping": mapping, "current_node": before}  # fmt: skip


async def _import(store: Path, export: Path, share: float) -> None:
    """Import until a share of the file is read; print a line of JSON with what was seen."""
    result, reports, began = ImportResult(), 0, time.perf_counter()

    with anyio.CancelScope() as scope:

        def report(file: ImportFile, _result: ImportResult) -> None:
            nonlocal reports
            reports += 1
            if share < 1 and file.position > share * file.size:
                scope.cancel()

        async with open_store(store) as opened, watched_loop() as stalls:
            await import_files([export], opened.records, report, result)
    facts = {
        "chats": result.chats,
        "unchanged": result.unchanged,
        "reports": reports,
        "seconds": time.perf_counter() - began,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "stall_ms": stalls.longest_work * 1000,
    }
    sys.stdout.write(json.dumps(facts) + "\n")


def imported(store: Path, export: Path, share: float = 1.0) -> dict[str, float]:
    """Import in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.import_chats", "--child"]
    command += [str(store), str(export), str(share)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    facts: dict[str, float] = json.loads(done.stdout)
    return facts


def main() -> int:
    """Take the imports, print the figures, and fail when a limit is passed."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_export(folder / "small.json", 1)
        total = make_export(folder / "large.json", megabytes)
        small = imported(folder / "small.db", folder / "small.json")
        whole = imported(folder / "whole.db", folder / "large.json")
        half = imported(folder / "half.db", folder / "large.json", 0.5)
        rest = imported(folder / "half.db", folder / "large.json")
    more = whole["memory_mb"] - small["memory_mb"]
    stall = max(one["stall_ms"] for one in (whole, half, rest))
    print(f"{megabytes:g} MB, {total} chats: {whole['seconds']:.1f} s, {whole['reports']} reports")
    print(f"memory {whole['memory_mb']:.0f} MB, {more:.0f} MB above 1 MB's (limit {LIMIT_MB:g} MB)")
    print(f"stopped after {half['chats']} chats; then {rest['unchanged']} were there and"
          f" {rest['chats']} came in {rest['seconds']:.1f} s")  # fmt: skip
    print(f"longest time the loop was held {stall:.0f} ms (limit {STALL_MS:g} ms)")
    is_whole = whole["chats"] == total and rest["chats"] + rest["unchanged"] == total
    is_stopped = 0 < half["chats"] < total and rest["unchanged"] >= half["chats"]
    return 0 if is_whole and is_stopped and more <= LIMIT_MB and stall <= STALL_MS else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        anyio.run(_import, Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
        sys.exit(0)
    sys.exit(main())
