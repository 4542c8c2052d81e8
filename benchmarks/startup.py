"""Time from starting the program to a typed character on the screen, against a reference.

    python -m benchmarks.startup [ROUNDS]

Both programs start in turn on a pseudo-terminal with an empty home; the figure is the median of
the ratios of neighbours, so that a slow moment of the machine hits both.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.pty_session import PtySession

ROUNDS = 15
LIMIT = 1.3
TYPED = "zqv"
REFERENCE = [sys.executable, "-P", str(Path(__file__).with_name("reference_app.py"))]
OLLM = [sys.executable, "-P", "-m", "ollm_tui"]


def time_to_prompt(argv: Sequence[str], home: Path) -> float:
    """Start, type as soon as the program has the screen, and wait for the echo; in seconds."""
    env: Mapping[str, str] = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
    }
    started = time.monotonic()
    with PtySession(argv, env, home, size=(120, 40)) as session:
        session.wait_for(b"\x1b[?1049h", timeout=30)
        session.write(TYPED)
        session.wait_for(TYPED, timeout=30)
        return time.monotonic() - started


def main() -> int:
    """Run the rounds, print the figures, and fail when the limit is passed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for argv in (REFERENCE, OLLM):
            time_to_prompt(argv, home)
        for _ in range(rounds):
            theirs.append(time_to_prompt(REFERENCE, home))
            ours.append(time_to_prompt(OLLM, home))
    ratio = statistics.median(own / other for own, other in zip(ours, theirs, strict=True))
    print(f"rounds            {rounds}")
    print(f"reference         {statistics.median(theirs):.3f} s to a typed character (median)")
    print(f"ollm              {statistics.median(ours):.3f} s")
    print(f"ratio             {ratio:.2f} (limit {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
