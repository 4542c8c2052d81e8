"""A long answer that is under way while something else is measured."""

import time

from benchmarks.terminal.run import Run


def under_load(run: Run, rate: int, seconds: float, warm_s: float = 2.0) -> int:
    """Begin an answer that lasts so long and wait until it is on the screen; gives its id."""
    run.start()
    run.warm_up()
    ident = run.prepare(f"n={int(rate * seconds)} r={rate}")
    run.submit()
    run.need(rf"QSTART{ident}\b|\bs00[1-9]\d\b", 20)  # the short answer has no such tags
    time.sleep(warm_s)
    return ident
