"""The longest stall of the screen while a whole chat is copied.

    python -m benchmarks.copying [MEGABYTES]

A ticker that wants to run every millisecond measures how long it had to wait, first while nothing
happens, then while everything is selected by keys and collected for a copy.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from ollm_tui.tui.dialogs.questions import SaveCopyDialog
from tests.tui.screens import Stage, staged

MEGABYTES = 20
LIMIT_S = 0.1
ANSWER = (
    "A **short** answer with `code`, and a list:\n\n"
    + "".join(f"- item {number} of some words\n" for number in range(20))
    + "\n```python\n"
    + "".join(f"def one_{number}(value: int) -> int:\n    return value\n" for number in range(20))
    + "```\n\n"
    + "Some words that make a paragraph long enough to be wrapped. " * 20
)


class Ticker:
    """Wakes up all the time and remembers the longest wait."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._is_on = True

    async def run(self) -> None:
        """Tick until `stop`."""
        while self._is_on:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest_s = max(self.longest_s, time.perf_counter() - before - 0.001)

    def stop(self) -> None:
        """End the ticking."""
        self._is_on = False


async def measured(stage: Stage, *keys: str) -> Ticker:
    """Tick until the question about a file stands there, or for a while without keys."""
    ticker = Ticker()
    async with asyncio.TaskGroup() as group:
        group.create_task(ticker.run())
        if keys:
            for key in keys:
                await stage.pilot.press(key)
            while not isinstance(stage.app.screen, SaveCopyDialog):
                await asyncio.sleep(0.01)
        else:
            await asyncio.sleep(2)
        ticker.stop()
    return ticker


async def run(megabytes: int) -> int:
    """Fill a chat, copy all of it, print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with staged(home / "config.toml", copies=home / "copies") as stage:
            view = stage.chat.transcript
            count = megabytes * 1_000_000 // len(ANSWER)
            for number in range(count):
                view.add_user(f"u{number}", f"question {number}")
                view.add_answer(f"w{number}")
                view.append(f"w{number}", ANSWER)
                view.finish(f"w{number}")
            await stage.settle()
            idle = await measured(stage)
            started = time.perf_counter()
            busy = await measured(stage, "alt+up", "v", "a", "c")
            took = time.perf_counter() - started
    print(f"{count:,} questions and answers, {megabytes} MB of source")
    idle_ms, busy_ms = idle.longest_s * 1000, busy.longest_s * 1000
    print(f"longest stall: idle {idle_ms:.1f} ms, copying {busy_ms:.1f} ms")
    print(f"collected in {took:.1f} s")
    return int(busy.longest_s > LIMIT_S)


def main() -> int:
    """Measure."""
    return asyncio.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES))


if __name__ == "__main__":
    sys.exit(main())
