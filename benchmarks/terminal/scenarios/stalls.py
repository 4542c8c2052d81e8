"""What the heart in a program's event loop noted."""

from pathlib import Path

from benchmarks.terminal.scenarios.values import Values


def stalls(beats: Path, began: float, ended: float) -> Values:
    """Give the longest stall between two moments in ms, and the processor time used in it.

    Nothing when the program has no heart. A stall without processor time is the machine's.
    """
    if not beats.exists():
        return {}
    longest, used = 0.0, 0.0
    for line in beats.read_text("utf-8").splitlines():
        at, late, cpu = map(float, line.split())
        if began <= at - late and at <= ended and late > longest:
            longest, used = late, cpu
    return {"stall_ms": 1000 * longest, "stall_cpu_ms": 1000 * used}
