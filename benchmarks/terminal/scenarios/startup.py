"""From starting a program to a typed character on the screen, and what it then uses."""

import time

from benchmarks.terminal.run import Run
from benchmarks.terminal.scenarios.values import Values, memory
from benchmarks.terminal.session import now

WATCHED_S = 5.0


def startup(run: Run) -> Values:
    """Measure the start, and the memory when all that loads behind it has loaded."""
    usable = run.start()
    cpu = run.session.tree.cpu_s()
    run.be_ready()
    run.rest()
    return {"usable_s": usable, "cpu_s": cpu, **memory(run)}


def idle(run: Run) -> Values:
    """Measure what a program uses while nobody does anything, with an answer on the screen."""
    run.start()
    run.warm_up()
    time.sleep(1.0)
    session = run.session
    began, cpu, size = now(), session.tree.cpu_s(), session.bytes
    time.sleep(WATCHED_S)
    took = now() - began
    used, wrote = session.tree.cpu_s() - cpu, session.bytes - size
    return {"cpu_percent": 100 * used / took, "bytes_per_s": wrote / took}
