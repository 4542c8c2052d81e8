"""Abort prompts at random moments, many times, and count what is left of them.

    python -m benchmarks.aborts [TIMES] [SEED]

Real providers against servers in processes of their own, saved in a real file. The same seed
chooses the same moments again.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tests.chat.aborting import abort_rig, many_aborts
from tests.support.aborting import MODULES, answering, server_process

TIMES = 500


async def abort(times: int, seed: int) -> None:
    """Run the aborts and print what was hit; an abort that leaves something raises."""
    chance = random.Random(seed)
    began = time.monotonic()
    with (
        server_process(MODULES["ollama"]) as one,
        server_process(MODULES["openai-compatible"]) as two,
        tempfile.TemporaryDirectory() as folder,
    ):
        urls = {"ollama": one, "openai-compatible": two}
        async with abort_rig(urls, Path(folder), chance) as rig:
            hit = await many_aborts(rig, times, chance)
        left = answering(one) + answering(two)
    print(", ".join(f"{moment} {count}" for moment, count in hit.items()))
    print(f"{times} aborts in {time.monotonic() - began:.0f} s; answers still given: {left}")
    print("one end each, nothing seen was lost, nothing left open, and the next message worked")


def main() -> int:
    """Print the seed, with which a failure can be repeated."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    anyio.run(abort, times, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
