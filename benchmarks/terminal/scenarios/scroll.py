"""From PgUp and PgDn to other text on the screen while an answer streams."""

import re
import time
from dataclasses import dataclass

from benchmarks.terminal.emulator import Emulator
from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.measures import Values, under_load
from benchmarks.terminal.session import Seen, now

TAG = re.compile(r"\bs(\d{4})\b")
LOST_S = 5.0
SECONDS_EACH = 2.5


@dataclass(frozen=True, slots=True)
class Scroll:
    """So many times up and down at a token rate."""

    rate: int
    times: int

    def __call__(self, run: Run) -> Values:
        if not run.program.page_up:
            raise Failed("it leaves scrolling to the terminal")
        seconds = 8 + self.times * SECONDS_EACH
        under_load(run, self.rate, seconds, warm_s=max(4.0, 1500 / self.rate))
        up, down = [], []
        for _ in range(self.times):
            base = newest_tag(run.session.emulator)
            up.append(self._press(run, run.program.page_up, _moved(base, is_up=True)))
            time.sleep(0.4)
            base = newest_tag(run.session.emulator)
            down.append(self._press(run, run.program.page_down, _moved(base, is_up=False)))
            for _ in range(3):
                run.session.write(run.program.page_down)
                time.sleep(0.1)
            time.sleep(0.4)
        return {"scroll_ms": up + down, "up_ms": up, "down_ms": down}

    def _press(self, run: Run, keys: str, seen: Seen) -> float:
        run.session.expect(seen)
        pressed = now()
        run.session.write(keys)
        at = run.session.wait(LOST_S)
        return 1000 * (at - pressed if at is not None else LOST_S)


def newest_tag(emulator: Emulator) -> int:
    """Return the last part of the answer that is on the screen; 0 when there is none."""
    return max((int(tag) for tag in TAG.findall(emulator.text)), default=0)


def _moved(base: int, *, is_up: bool) -> Seen:
    def moved(emulator: Emulator) -> bool:
        tag = newest_tag(emulator)
        return tag < base if is_up else tag > base

    return moved
