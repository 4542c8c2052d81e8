"""End the program in every way while it streams: `python -m benchmarks.exits [RUNS]`.

Prints, for each way, how long it took until the last process was gone, and what was not as before.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from tests.hostile.endings import ENDINGS, end_while_streaming
from tests.hostile.homes import make_home
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import in_thread

RUNS = 100
TARGET_S = 1.0


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    ways = list(ENDINGS.items())
    took: dict[str, list[float]] = {name: [] for name in ENDINGS}
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, in_thread(fake_ollama) as server:
        for number in range(runs):
            name, ending = ways[number % len(ways)]
            left = end_while_streaming(ending, make_home(Path(folder, str(number))), server.url)
            took[name].append(left.seconds)
            faults += [f"{name}: {fault}" for fault in left.faults]
    for name, seconds in took.items():
        if seconds:
            middle, most = statistics.median(seconds), max(seconds)
            print(f"{name:16} {len(seconds):3} runs  median {middle:.2f} s  most {most:.2f} s")
    late = sum(one > TARGET_S for each in took.values() for one in each)
    print(f"{runs} runs, {late} over {TARGET_S:g} s, {len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
