"""How long the screen stands still while large pictures are decoded and shown.

    python -m benchmarks.pictures [ROUNDS]

Each round shows a chat of text and then the same chat with a 12-megapixel picture of noise of each
kind, the worst there is to decode. The longest pause of the event loop is measured in
both, from the first block until all is painted; the figures are of the best rounds, since a busy
machine only adds.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from random import Random

import anyio
from PIL import Image
from textual.app import App, ComposeResult

from ollm_tui.tui.transcript.transcript import Transcript
from tests.decode.drawn import KINDS, saved

ROUNDS = 3
SIDES = (4000, 3000)
ROWS = 21
LIMIT_S = 0.1


class Room(App[None]):
    def compose(self) -> ComposeResult:
        yield Transcript()


async def longest_pause(fill: Callable[[Transcript], None]) -> tuple[float, float]:
    """Seconds the loop stood still at most, and until all was shown."""
    pause = 0.0
    app = Room()
    async with app.run_test(size=(120, 40)) as pilot, anyio.create_task_group() as group:
        await pilot.pause()

        async def beat() -> None:
            nonlocal pause
            while True:
                before = time.perf_counter()
                await anyio.sleep(0.001)
                pause = max(pause, time.perf_counter() - before - 0.001)

        group.start_soon(beat)
        began = time.perf_counter()
        transcript = app.query_one(Transcript)
        fill(transcript)
        while transcript.busy:
            await anyio.sleep(0.005)
        await anyio.sleep(0.1)  # the frame that shows it
        group.cancel_scope.cancel()
    return pause, time.perf_counter() - began


def text(transcript: Transcript) -> None:
    """As many rows as the pictures take."""
    for number in range(len(KINDS)):
        transcript.add_user(f"u{number}", "\n".join(["word " * 20] * ROWS))


def picture(data: bytes, transcript: Transcript) -> None:
    """One picture."""
    transcript.add_picture("p", data)


async def measure(rounds: int) -> dict[str, tuple[float, float]]:
    noise = Image.frombytes("RGB", SIDES, Random(1).randbytes(SIDES[0] * SIDES[1] * 3))
    pauses = {"text": (1e9, 1e9)}
    for _ in range(rounds):
        pauses["text"] = min(pauses["text"], await longest_pause(text))
        for kind in KINDS:
            data = saved(noise, kind)
            one = await longest_pause(partial(picture, data))
            pauses[kind] = min(pauses.get(kind, one), one)
    return pauses


def main() -> int:
    pauses = anyio.run(measure, int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    reference = pauses["text"][0]
    for name, (pause, whole) in pauses.items():
        print(
            f"{name:5} longest pause {pause * 1000:5.1f} ms ({pause / reference:4.1f} times that "
            f"of text), all shown after {whole * 1000:5.0f} ms"
        )
    return int(max(pause for pause, _whole in pauses.values()) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
