"""From a key to its character while an answer streams, and the loop's longest stall."""

import math
import random
import time
from dataclasses import dataclass

from benchmarks.terminal.emulator import Emulator
from benchmarks.terminal.run import Failed, Run
from benchmarks.terminal.scenarios.measures import Values, stalls, under_load
from benchmarks.terminal.session import Seen, now

LOST_S = 5.0
LETTERS = "abcdefghijkmnoprstuvwxyz"
LINE = 40
SECONDS_PER_KEY = 0.3
MARGIN_S = 20
DRAINED_S = 1.0
"""What had come before is drawn by then."""
PAUSES_S = (0.05, 0.13)


@dataclass(frozen=True, slots=True)
class Echo:
    """So many keys at a token rate."""

    rate: int
    keys: int

    def __call__(self, run: Run) -> Values:
        if not run.program.types_while_streaming:
            raise Failed("one cannot type while it streams")
        lasts = self.keys * SECONDS_PER_KEY + MARGIN_S
        under_load(run, self.rate, lasts)
        began = now()
        # A slow program gets fewer keys: after the end of the answer their times would differ.
        echoes = echo_times(run, self.keys, began + lasts - MARGIN_S / 2)
        return {"echo_ms": echoes, **stalls(run.beats, began, now())}


@dataclass(frozen=True, slots=True)
class IdleEcho:
    """So many keys while nothing else goes on."""

    keys: int

    def __call__(self, run: Run) -> Values:
        run.start()
        run.warm_up()
        run.rest()
        return {"echo_ms": echo_times(run, self.keys)}


@dataclass(frozen=True, slots=True)
class HungEcho:
    """So many keys while the server hangs in the middle of an answer."""

    rate: int
    keys: int

    def __call__(self, run: Run) -> Values:
        if not run.program.types_while_streaming:
            raise Failed("one cannot type while it streams")
        under_load(run, self.rate, MARGIN_S)
        run.backend.freeze()
        time.sleep(DRAINED_S)
        began = now()
        return {"echo_ms": echo_times(run, self.keys), **stalls(run.beats, began, now())}


def echo_times(run: Run, keys: int, until: float = math.inf) -> list[float]:
    """Type keys one by one and return each one's time in ms; one that is lost counts as 5 s.

    No further key is typed when it is `until`.
    """
    chance, text = random.Random(5), ""
    times: list[float] = []
    while len(times) < keys and now() < until:
        if len(text) >= LINE:
            run.clear(LINE + 5)
            text = ""
        # The first two together are a text that is nowhere else on the screen.
        new = chance.choice(LETTERS) if text else "Zq"
        text += new
        run.session.expect(_shows(text))
        pressed = now()
        run.session.write(new)
        seen = run.session.wait(LOST_S)
        times.append(1000 * (seen - pressed if seen is not None else LOST_S))
        time.sleep(chance.uniform(*PAUSES_S))
    run.clear(LINE + 5)
    return times


def _shows(text: str) -> Seen:
    def shows(emulator: Emulator) -> bool:
        return any(text in line for line in emulator.lines)

    return shows
