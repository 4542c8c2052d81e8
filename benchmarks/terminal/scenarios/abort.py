"""From the byte of the key that stops an answer to the server seeing the disconnect."""

import time
from dataclasses import dataclass

from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.measures import Values
from benchmarks.terminal.session import now

LOST_S = 15.0
LASTS_S = 60
EARLY_S = 0.1


@dataclass(frozen=True, slots=True)
class Abort:
    """So many answers at a token rate, each stopped early."""

    rate: int
    times: int

    def __call__(self, run: Run) -> Values:
        if not run.program.stop:
            raise Failed("it cannot stop an answer")
        run.start()
        run.warm_up()
        return {"abort_ms": [self._one(run) for _ in range(self.times)]}

    def _one(self, run: Run) -> float:
        ident = run.prepare(f"n={self.rate * LASTS_S} r={self.rate}")
        run.submit()
        run.need(rf"QSTART{ident}\b", 20)
        time.sleep(EARLY_S)
        delay = time_to_disconnect(run, ident)
        run.be_ready()
        return delay


def time_to_disconnect(run: Run, ident: int) -> float:
    """Press the key that stops an answer; return what passed until the server saw it, in ms."""
    pressed = run.stop()
    while now() < pressed + LOST_S:
        record = run.record(ident)
        if record.gone is not None:
            return 1000 * (record.gone - pressed)
        if record.complete:
            raise Failed("the answer was whole before it was stopped")
        time.sleep(0.02)
    return 1000 * LOST_S
