"""One answer of so many tokens at such a rate."""

import re
import time
from dataclasses import dataclass

from benchmarks.terminal.emulator import Emulator
from benchmarks.terminal.run import Run
from benchmarks.terminal.scenarios.measures import Values, memory
from benchmarks.terminal.session import now

REST_S = 0.5
"""How long after the last word its work is still counted."""
TIMEOUT_S = 120.0
LOST_S = 5.0
"""A whole answer whose end is not on the screen of an idle program by then will not come."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Tokens, and tokens a second; 0 is as fast as the program reads."""

    tokens: int
    rate: int

    def __call__(self, run: Run) -> Values:
        run.start()
        run.warm_up()
        session = run.session
        ident = run.prepare(f"n={self.tokens} r={self.rate}")
        cpu, size, frames = session.tree.cpu_s(), session.bytes, session.emulator.frames
        session.expect(rf"QSTART{ident}\b|QDONE{ident}\b")
        entered = run.submit()
        first = session.wait(30)
        done = self._end(run, ident)
        record = run.record(ident)
        time.sleep(REST_S)
        used = session.tree.cpu_s() - cpu
        values: Values = {
            "cpu_ms_per_token": 1000 * used / self.tokens,
            "cpu_s": used,
            "bytes_per_token": (session.bytes - size) / self.tokens,
            "frames": session.emulator.frames - frames,
            "request_s": record.asked - entered,
            "complete": float(record.complete),
        }
        if first is not None and record.first is not None:
            values["first_token_s"] = first - record.first
        if done is not None and record.last is not None:
            values["lag_s"] = done - record.last
        return values | memory(run)

    def _end(self, run: Run, ident: int) -> float | None:
        """Wait for the last word; None when it is whole and never shown."""
        session, done = run.session, re.compile(rf"QDONE{ident}\b")

        def shows_end(emulator: Emulator) -> bool:
            return bool(done.search(emulator.text))

        session.expect(shows_end)
        limit = now() + (3 * self.tokens / self.rate if self.rate else 0) + TIMEOUT_S
        while now() < limit and not session.ended:
            used = session.tree.cpu_s()
            if (at := session.wait(1.0)) is not None:
                return at
            record = run.record(ident)
            is_idle = session.tree.cpu_s() - used < 0.25
            if record.complete and is_idle and now() - (record.last or 0) > LOST_S:
                break
        return None
