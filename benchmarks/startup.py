"""Time from starting the program to a typed character on the screen, against a reference.

    python -m benchmarks.startup [ROUNDS [FOLDER]]

With a FOLDER of further packages, as `pip install --target FOLDER pywhispercpp sherpa-onnx` makes
one, the reference is the program itself without them: what is installed must delay no start.

Both programs start in turn on a pseudo-terminal with an empty home; the figure is the median of
the ratios of neighbours, so that a slow moment of the machine hits both.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.pty_session import PtySession

ROUNDS = 15
LIMIT = 1.3
EXTRAS_LIMIT = 1.05
TYPED = "zqv"
REFERENCE = [sys.executable, "-P", str(Path(__file__).with_name("reference_app.py"))]
OLLM = [sys.executable, "-P", "-m", "ollm_tui"]


def time_to_prompt(argv: Sequence[str], home: Path, extras: str = "") -> float:
    """Start, type as soon as the program has the screen, and wait for the echo; in seconds."""
    env: Mapping[str, str] = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), extras))),
        "PYTHONDONTWRITEBYTECODE": os.environ.get("PYTHONDONTWRITEBYTECODE", ""),
    }
    started = time.monotonic()
    with PtySession(argv, env, home, size=(120, 40)) as session:
        session.wait_for(b"\x1b[?1049h", timeout=30)
        session.write(TYPED)
        session.wait_for(TYPED, timeout=30)
        return time.monotonic() - started


def judge(starts: Mapping[str, Callable[[], float]], rounds: int, limit: float) -> int:
    """Start two programs in turn, print the figures, and return 1 if the second is too slow."""
    seconds: dict[str, list[float]] = {name: [] for name in starts}
    for start in starts.values():
        start()  # the first one reads files that are cached from then on
    for _ in range(rounds):
        for name, start in starts.items():
            seconds[name].append(start())
    reference, measured = seconds.values()
    ratio = statistics.median(two / one for one, two in zip(reference, measured, strict=True))
    print(f"{'rounds':<18}{rounds}")
    for name, taken in seconds.items():
        print(f"{name:<18}{statistics.median(taken):.3f} s to a typed character (median)")
    print(f"{'ratio':<18}{ratio:.2f} (limit {limit})")
    return 0 if ratio <= limit else 1


def main() -> int:
    """Run the rounds, print the figures, and fail when the limit is passed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    extras = str(Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else ""
    other, limit = (OLLM, EXTRAS_LIMIT) if extras else (REFERENCE, LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        starts = {
            "reference": lambda: time_to_prompt(other, home),
            "ollm": lambda: time_to_prompt(OLLM, home, extras),
        }
        return judge(starts, rounds, limit)


if __name__ == "__main__":
    sys.exit(main())
