"""Kill programs that use saved chats, many times and at many moments, and count what was lost.

    python -m benchmarks.kill_store [TIMES] [SEED] [MOMENT...]

All kills of a moment hit the same files, so that each run starts from what the last one left.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.store.kills.killing import MOMENTS, Verdict, kill_once

TIMES = 200
LAG_S = 0.25
REOPEN_S = 1.0


def shown(moment: str, verdicts: Sequence[Verdict]) -> str:
    """Return the figures of one moment."""
    problems = [problem for verdict in verdicts for problem in verdict.problems]
    longest = max(verdict.reopen_s for verdict in verdicts)
    lag = max(verdict.lag_s for verdict in verdicts)
    return (
        f"{moment:10} {len(verdicts):4} kills   {sum(v.acknowledged for v in verdicts):6}"
        f" acknowledged, {len(problems)} lost or torn   reopened in {longest * 1000:4.0f} ms"
        + (f"   {lag * 1000:.0f} ms of a stream lost" if lag else "")
        + "".join(f"\n    {problem}" for problem in problems[:5])
    )


def main() -> int:
    """Run the kills, print the figures, and fail when something was lost."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    moments = sys.argv[3:] or MOMENTS
    verdicts: dict[str, list[Verdict]] = {moment: [] for moment in moments}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            moment = moments[number % len(moments)]
            verdicts[moment].append(
                kill_once(moment, Path(folder) / moment, seed + number // len(moments))
            )
    print(f"kills {times} from seed {seed}, in {time.monotonic() - began:.0f} s")
    for moment, its in verdicts.items():
        print(shown(moment, its))
    every = [verdict for its in verdicts.values() for verdict in its]
    is_late = any(one.reopen_s > REOPEN_S or one.lag_s > LAG_S for one in every)
    return 1 if is_late or any(one.problems for one in every) else 0


if __name__ == "__main__":
    sys.exit(main())
