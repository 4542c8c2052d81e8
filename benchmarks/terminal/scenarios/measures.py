"""What several scenarios measure, and a long answer under which they do."""

import time
from pathlib import Path
from typing import TypeAlias

from benchmarks.terminal.run import Run

Values: TypeAlias = dict[str, float | list[float]]


def memory(run: Run) -> Values:
    """Return the memory of the program and all it started, in MB.

    What several processes share counts in each of them as resident, and once in all as `pss_mb`.
    """
    tree = run.session.tree
    resident, peak = tree.memory_mb()
    return {"memory_mb": resident, "peak_mb": peak, "pss_mb": tree.shared_once_mb()}


def under_load(run: Run, rate: int, seconds: float, warm_s: float = 2.0) -> int:
    """Begin an answer that lasts so long and wait until it is on the screen; return its id."""
    run.start()
    run.warm_up()
    ident = run.prepare(f"n={int(rate * seconds)} r={rate}")
    run.submit()
    run.need(rf"QSTART{ident}\b|\bs00[1-9]\d\b", 20)  # the short answer has no such tags
    time.sleep(warm_s)
    return ident


def stalls(beats: Path, began: float, ended: float) -> Values:
    """Return the longest stall between two moments in ms, and the processor time used in it.

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
