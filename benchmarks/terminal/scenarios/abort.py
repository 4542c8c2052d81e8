"""From the byte of the key that stops an answer to the server seeing the disconnect."""

import time
from dataclasses import dataclass

from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.values import Values
from benchmarks.terminal.session import now

LOST_S = 15.0
LASTS_S = 60


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
        time.sleep(0.1)
        pressed = run.stop()
        end = pressed + LOST_S
        while now() < end:
            record = run.record(ident)
            if record.gone is not None:
                run.be_ready()
                return 1000 * (record.gone - pressed)
            time.sleep(0.05)
        return 1000 * LOST_S
