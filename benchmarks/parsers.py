"""Time that hostile texts cost the parsers of what models write.

    python -m benchmarks.parsers [TIMES]

Ten times the text may cost at most twelve times as long. Each text is timed whole and in pieces of
a few characters; the figure is the best of several rounds, small and large in turn.
"""

import gc
import sys
import time

from tests.decode.hostile import HOSTILE, hostile_text

TIMES = 20_000
ROUNDS = 5
LIMIT = 12.0
PIECE = 5
FLOOR = 1e-4
"""A tenth that is faster than this, in seconds, is too short to be compared with."""


def seconds_for(kind: str, chunks: list[str]) -> float:
    """Time one run of the kind's parser, in processor time: a busy machine must not count."""
    make, _ = HOSTILE[kind]
    decoder = make()
    started = time.process_time()
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.finish()
    return time.process_time() - started


def in_pieces(text: str) -> list[str]:
    """Cut a text as a model's tokens would."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def best_times(kind: str, times: int, *, cut: bool) -> tuple[float, float]:
    """Time a tenth, ten times over since it is short, and the whole, in turn."""
    small, large = hostile_text(kind, times // 10), hostile_text(kind, times)
    chunks = (in_pieces(small), in_pieces(large)) if cut else ([small], [large])
    tenths, wholes = [], []
    for _ in range(ROUNDS):
        tenths += [seconds_for(kind, chunks[0]) for _ in range(10)]
        wholes.append(seconds_for(kind, chunks[1]))
    return min(tenths), min(wholes)


def main() -> int:
    """Time every kind, print the figures, and fail when one grows faster than its text."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    gc.disable()
    worst = 0.0
    print(f"{'':32} {'whole':>18} {'in pieces':>18}   ({times // 10} and {times} times)")
    for kind in HOSTILE:
        figures = []
        for cut in (False, True):
            small, large = best_times(kind, times, cut=cut)
            ratio = large / max(small, FLOOR)
            worst = max(worst, ratio)
            figures.append(f"{large * 1000:8.1f} ms x{ratio:5.1f}")
        print(f"{kind:32} {figures[0]:>18} {figures[1]:>18}")
    print(f"steepest {worst:.1f} (limit {LIMIT})")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
