"""Kill a program that downloads, many times, and count what must be sent again.

    python -m benchmarks.kill_download [KILLS] [SEED]

Each file is killed four times at moments drawn from its seed, then fetched to its end.
"""

import sys
import tempfile
from pathlib import Path

import anyio

from tests.library.downloads.file_host import content
from tests.library.downloads.killing import killed

KILLS, OF_ONE_FILE = 200, 4
SIZE = 24_000_000
MIN_REUSED = 0.95


async def run(kills: int, seed: int) -> int:
    """Kill, print the figures, and fail when a file is wrong or too much was sent again."""
    done = wrong = resent = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        while done < kills:
            target = Path(folder) / str(seed) / "m.gguf"
            verdict = await killed(content(SIZE, seed), target, seed, OF_ONE_FILE)
            done += verdict.kills
            wrong += verdict.corrupt + (not verdict.is_right)
            resent += verdict.sent - SIZE
            worst = max(worst, (verdict.sent - SIZE) / SIZE / max(1, verdict.kills))
            target.unlink()
            seed += 1
    reused = 1 - resent / SIZE / max(1, done)
    print(f"{done} kills; wrong files {wrong}")
    print(f"reused after a kill: mean {reused:.2%}, worst file {1 - worst:.2%}")
    return int(wrong > 0 or reused < MIN_REUSED)


def main() -> int:
    """Measure."""
    numbers = [*map(int, sys.argv[1:]), *(KILLS, 0)[len(sys.argv) - 1 :]]
    return anyio.run(run, numbers[0], numbers[1])


if __name__ == "__main__":
    sys.exit(main())
