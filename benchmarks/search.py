"""Searching a long chat: time to the first and to all matches, and the longest stall meanwhile.

    python -m benchmarks.search [MESSAGES] [MEGABYTES]

The reference of each needle is one pass of `str.count` over the folded text of all messages, which
is what a search would cost that looked at the source instead of at what is painted. A stall is what
a task that wants to run every millisecond waits beyond that; what this thread computed meanwhile is
given beside it, and is the figure to look at where other programs are running.
"""

import gc
import sys
import time

import anyio
from textual import on
from textual.app import App, ComposeResult
from textual.screen import Screen

from benchmarks.stalls import BEAT_S, Stalls, watched_loop
from ollm_tui.tui.keys.keymap import Keymap
from ollm_tui.tui.transcript.navigable_transcript import NavigableTranscript
from ollm_tui.tui.transcript.search.bar import SearchBar
from ollm_tui.tui.transcript.search.keys import SearchControl
from ollm_tui.tui.transcript.transcript import Transcript

MESSAGES = 5000
MEGABYTES = 20.0
LIMIT_S = 0.1
PARAGRAPH = (
    "At noon sunlight crosses **little air**, so only `short` waves are scattered and the rest "
    "goes on to the ground, which is why the sky is blue above us and not at its edge. "
)
LISTED = "- violet and blue *scatter* most\n- red scatters [least](http://localhost/red)\n\n"
TABLE = "| angle | path | colour |\n|---|---:|---|\n| 90° | 1 | blue |\n| 5° | 10 | red |\n\n"
CODE = (
    "```python\n" + "def path(angle: float) -> float:\n    return 1 / sin(angle)\n" * 6 + "```\n\n"
)
NEEDLES = ("sky", "scatters least", "needle in message 17", "nowhere to be found")


class Room(Screen[None]):
    """A transcript and what a search needs."""

    def __init__(self) -> None:
        super().__init__()
        self.transcript = NavigableTranscript(
            keys={"cursor": {}, "caret": {}}, leave=lambda _typed: None, edit=lambda _id: False
        )
        self._bar = SearchBar(Keymap().hints_of("find.older", "find.newer", "find.close"))
        self.search = SearchControl(self.transcript, self._bar)

    def compose(self) -> ComposeResult:
        """Return the transcript the whole screen."""
        yield self.transcript
        yield self._bar

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        self.search.seek(event.text)


class House(App[None]):
    """Shows the one screen."""

    def get_default_screen(self) -> Room:
        """Return it."""
        return Room()


def message(number: int, size: int) -> str:
    """One answer of about that many characters, with everything that Markdown has."""
    whole = f"{PARAGRAPH * 4}\n\n{LISTED}{TABLE}{CODE}"
    return f"needle in message {number}\n\n" + whole * max(1, round(size / len(whole)))


def fill(transcript: Transcript, messages: int, megabytes: float) -> int:
    """Add a chat; return its characters."""
    size = round(megabytes * 1e6 / (messages // 2))
    total = 0
    for number in range(messages // 2):
        transcript.add_user(f"u{number}", f"question {number}")
        transcript.add_answer(f"a{number}")
        transcript.append(f"a{number}", message(number, size))
        transcript.finish(f"a{number}")
        total += transcript.block_list.block(f"a{number}").source.size
    return total


async def searched(room: Room, needle: str) -> tuple[float, float, int, Stalls]:
    """Seconds to the first match and to all of them, how many, and the stalls meanwhile."""
    first, done, count = 0.0, 0.0, 0
    await anyio.sleep(0.05)
    async with watched_loop() as stalls:
        begun = time.perf_counter()
        room.search.find(needle)
        while not done:
            await anyio.sleep(BEAT_S)
            tally = room.search.current.tally if room.search.current is not None else None
            passed = time.perf_counter() - begun
            if tally is not None and tally.rank is not None and not first:
                first = passed
            if tally is not None and tally.is_done:
                done, count = passed, tally.total
    room.search.close()
    return first or done, done, count, stalls


def counted(transcript: Transcript, needle: str) -> float:
    """Seconds that counting in the source takes, without any painting."""
    begun = time.perf_counter()
    for block in transcript.block_list.blocks:
        block.source.text.casefold().count(needle)
    return time.perf_counter() - begun


async def run(messages: int, megabytes: float) -> float:
    """Search a chat for every needle; return the longest time that the loop was held up."""
    worst = 0.0
    app = House()
    async with app.run_test(size=(120, 40)) as pilot:
        room = app.screen
        assert isinstance(room, Room)
        transcript = room.transcript
        total = fill(transcript, messages, megabytes)
        while transcript.busy:
            await pilot.pause()
        room.search.find("warm up: loads what the first search needs")
        await pilot.pause()
        room.search.close()
        gc.collect()
        gc.freeze()
        async with watched_loop() as idle:
            await anyio.sleep(2)
        print(f"{messages} messages, {total / 1e6:.1f} million characters")
        print(f"longest stall in 2 s without a search: {idle.longest * 1000:.1f} ms")
        print(
            f"{'':24}{'first':>9}{'all':>9}{'matches':>10}{'stall':>10}{'busy':>10}{'reference':>11}"
        )
        for needle in NEEDLES:
            reference = counted(transcript, needle)
            first, done, count, stalls = await searched(room, needle)
            worst = max(worst, stalls.longest, stalls.busiest)
            figures = f"{first:7.2f} s{done:7.2f} s{count:10,}"
            stalled = f"{stalls.longest * 1000:7.1f} ms{stalls.busiest * 1000:7.1f} ms"
            print(
                f"{needle:24}{figures}{stalled}{reference:9.3f} s  x{done / reference:.1f}",
                flush=True,
            )
    return worst


def main() -> int:
    """Print the figures; fail when anything waited too long."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    megabytes = float(sys.argv[2]) if len(sys.argv) > 2 else MEGABYTES
    return int(anyio.run(run, messages, megabytes) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
