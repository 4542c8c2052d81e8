"""Kill a program that pulls a model in parts, many times; count what is reused and what is wrong.

    python -m benchmarks.kill_pull [TIMES] [SEED]

Each model is pulled from a hub on loopback by a program that is killed five times on the way, at
moments drawn from a seed: when so much has come, while it sums a part up, or as soon as it starts.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.library.downloads.pull_killing import Verdict, killed_pull

TIMES = 200
OF_ONE = 5
SIZE = 12_000_000
MIN_REUSED = 0.95


def main() -> int:
    """Run the kills, print the figures, and fail when a file was wrong or too much was lost."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    whole, pulls, began = Verdict(), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while whole.kills < times:
            place = Path(folder) / str(pulls)
            whole.add(killed_pull(place, seed + pulls, min(OF_ONE, times - whole.kills), SIZE))
            pulls += 1
    ended = whole.ends.count("done")
    print(
        f"kills {whole.kills} from seed {seed} in {pulls} pulls, {time.monotonic() - began:.0f} s"
    )
    print(
        f"pulls that ended right {ended}/{pulls}; wrong files {len(whole.wrong)} {whole.wrong[:3]}"
    )
    print(f"had come by the kills {whole.reported / 1e6:.0f} MB, reused {whole.share:.2%}")
    return 1 if whole.wrong or ended < pulls or whole.share < MIN_REUSED else 0


if __name__ == "__main__":
    sys.exit(main())
