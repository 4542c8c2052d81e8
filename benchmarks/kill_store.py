"""Kill a program that saves chats, many times, and count what was lost.

    python -m benchmarks.kill_store [TIMES] [SEED]

All kills hit the same file, so that each run starts from what the last one left.
"""

import sys
import tempfile
from pathlib import Path

from tests.store.killing import kill_once

TIMES = 200
LAG_S = 0.25
REOPEN_S = 1.0


def main() -> int:
    """Run the kills, print the figures, and fail when something was lost."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats.db"
        verdicts = [kill_once(path, seed + number) for number in range(times)]
    lags = sorted(verdict.lag_s for verdict in verdicts)
    opened = sorted(verdict.reopen_s for verdict in verdicts)
    lost = [message for verdict in verdicts for message in verdict.lost]
    whole = sum(verdict.integrity == "ok" for verdict in verdicts)
    cut = sum(verdict.state == "interrupted" for verdict in verdicts)
    print(f"kills {times} from seed {seed}; whole files {whole}/{times}; cut answers marked {cut}")
    print(f"acknowledged {sum(v.acknowledged for v in verdicts)}, lost {len(lost)} {lost[:3]}")
    print(f"stream lost  median {lags[times // 2] * 1000:.0f} ms   max {lags[-1] * 1000:.0f} ms")
    print(
        f"reopening    median {opened[times // 2] * 1000:.0f} ms   max {opened[-1] * 1000:.0f} ms"
    )
    failed = lost or whole < times or lags[-1] > LAG_S or opened[-1] > REOPEN_S
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
