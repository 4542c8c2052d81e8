"""Documents that cost far more than they look like, in the real transcript, with keys and Esc.

    python -m benchmarks.hostile_documents [NAME]

Each document is fed whole and token by token (pieces of four characters, as many per frame as bring
it in within some three seconds) into the transcript of a headless app, while keys are pressed, Esc
too. A task that only sleeps measures how long the event loop was held up. The limits are for what
it shows by the clock (`stall`, `p99`), so they need a quiet machine; the processor time of the
thread in the same while (`own`) tells whether it was the machine. A document that misses a limit
runs once more, and counts only if it misses it twice. Textual's own Markdown widget gets a few of
the documents in the same run, for comparison.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import anyio
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.strip import Strip
from textual.widgets import Input, Markdown

from benchmarks.stalls import Stalls, p99, watched_loop
from ollm_tui.tui.memory import resume_collection
from ollm_tui.tui.transcript.transcript import Transcript
from tests.tui.painters.hostile_documents import DOCUMENTS

SIZE = (120, 40)
TOKEN = 4
FRAME_S = 1 / 30
FRAMES = 90
"""Frames a document is spread over when it comes token by token."""
BEAT_S = 0.004
PRESS_S = 0.05
TIMEOUT_S = 30.0
REFERENCE_S = 10.0
REFERENCES = ("table of 3,000 rows", "5,000 rules", "20,000 lines of text as code")
STALL, P99, FIRST, SETTLE, ESCAPE = 0.100, 0.050, 0.250, 2.0, 0.100
"""Limits in seconds; that on settling is for whole documents."""


@dataclass
class Figures:
    """What one feeding of one document showed, in seconds."""

    stalls: Stalls = field(default_factory=Stalls)
    echoes: list[float] = field(default_factory=list)
    escapes: list[float] = field(default_factory=list)
    collected: float = 0.0
    """The longest garbage collection, a part of some stall."""
    first: float = 0.0
    settled: float = 0.0
    """From the last piece until all text is in its place."""
    refined: float = 0.0
    """From the last piece until the formatting of long blocks is there too."""

    def misses(self, *, whole: bool) -> list[str]:
        """The limits that were passed."""
        checks = [
            ("stall", self.stalls.longest, STALL),
            ("p99", self.stalls.p99, P99),
            ("first", self.first, FIRST),
            ("echo", p99(self.echoes), P99),
            ("Esc", max(self.escapes), ESCAPE),
            ("settle", self.settled if whole else 0.0, SETTLE),
        ]
        return [name for name, value, limit in checks if value > limit]


class Watched(Transcript):
    """The real transcript, which records when it first drew text and what is left to paint."""

    drawn_at = 0.0

    def render_line(self, y: int) -> Strip:
        """Note when the first row with text is drawn."""
        strip = super().render_line(y)
        if not self.drawn_at and strip.text.strip():
            self.drawn_at = time.monotonic()
        return strip

    @property
    def settled(self) -> bool:
        """Is all text in its place?"""
        painter = self.block_list.blocks[-1].painter
        return painter is not None and painter.refining


class Reference(Markdown):
    """Textual's own widget."""


class Bench(App[None]):
    """A transcript, or the reference, above a line to type in."""

    CSS = "Input { dock: bottom; } Reference { height: 1fr; overflow-y: auto; }"
    BINDINGS: ClassVar = [Binding("escape", "stop", "Stop", priority=True)]

    def __init__(self, figures: Figures, *, reference: bool = False) -> None:
        super().__init__()
        self.figures = figures
        self.pressed_at: list[float] = []
        self.escaped_at = 0.0
        self.is_reference = reference

    def compose(self) -> ComposeResult:
        """Return the two widgets."""
        yield Reference() if self.is_reference else Watched()
        yield Input()

    def on_mount(self) -> None:
        """Let the line take keys."""
        self.query_one(Input).focus()

    def on_input_changed(self) -> None:
        """A key was handled."""
        if self.pressed_at:
            self.figures.echoes.append(time.monotonic() - self.pressed_at.pop(0))

    def action_stop(self) -> None:
        """Esc was handled."""
        self.figures.escapes.append(time.monotonic() - self.escaped_at)

    def press(self, key: str, character: str | None) -> None:
        """Send a key the way the driver does."""
        if key == "escape":
            self.escaped_at = time.monotonic()
        else:
            self.pressed_at.append(time.monotonic())
        self.post_message(events.Key(key, character))


async def type_keys(app: Bench) -> None:
    """Press keys, every fourth of them Esc."""
    number = 0
    while True:
        await asyncio.sleep(PRESS_S)
        number += 1
        app.press(*(("escape", None) if number % 4 == 0 else ("x", "x")))


def frames_of(text: str, *, whole: bool) -> Iterator[list[str]]:
    """The pieces of each frame."""
    if whole:
        yield [text]
        return
    tokens = [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]
    batch = max(len(tokens) // FRAMES, 1)
    for at in range(0, len(tokens), batch):
        yield tokens[at : at + batch]


async def feed(transcript: Watched, text: str, figures: Figures, *, whole: bool) -> None:
    """Stream a document into an answer and wait until it is painted."""
    transcript.add_answer("answer")
    began = time.monotonic()
    for number, pieces in enumerate(frames_of(text, whole=whole)):
        for piece in pieces:
            transcript.append("answer", piece)
        await asyncio.sleep(max(began + number * FRAME_S - time.monotonic(), 0.0))
    transcript.finish("answer")
    ended = time.monotonic()
    while transcript.busy and time.monotonic() < ended + TIMEOUT_S:
        await asyncio.sleep(BEAT_S)
        if not figures.settled and transcript.settled:
            figures.settled = time.monotonic() - ended
    figures.refined = time.monotonic() - ended
    figures.settled = figures.settled or figures.refined
    await asyncio.sleep(PRESS_S * 5)
    figures.first = transcript.drawn_at - began if transcript.drawn_at else TIMEOUT_S


async def measure(text: str, *, whole: bool) -> Figures:
    """Run an app for one feeding."""
    figures = Figures()
    started = 0.0

    def collecting(phase: str, _info: dict[str, int]) -> None:
        nonlocal started
        if phase == "start":
            started = time.monotonic()
        else:
            figures.collected = max(figures.collected, time.monotonic() - started)

    gc.unfreeze()
    gc.collect()
    async with Bench(figures).run_test(size=SIZE) as pilot:
        await pilot.pause()
        # As the program does once its first screen stands.
        resume_collection()
        app = pilot.app
        assert isinstance(app, Bench)
        gc.callbacks.append(collecting)
        async with watched_loop(BEAT_S) as figures.stalls, anyio.create_task_group() as group:
            group.start_soon(type_keys, app)
            await feed(app.query_one(Watched), text, figures, whole=whole)
            group.cancel_scope.cancel()
        gc.callbacks.remove(collecting)
    return figures


async def refer(text: str) -> tuple[float, float, bool]:
    """Textual's own Markdown: longest stall, time until it is idle, and whether it got there."""
    async with Bench(Figures(), reference=True).run_test(size=SIZE) as pilot:
        await pilot.pause()
        began = time.monotonic()
        async with watched_loop(BEAT_S) as stalls:
            with anyio.move_on_after(REFERENCE_S) as scope:
                await pilot.app.query_one(Reference).update(text)
                await pilot.pause()
            took = time.monotonic() - began
            await asyncio.sleep(BEAT_S * 2)
    return stalls.longest, took, not scope.cancelled_caught


def line(name: str, how: str, figures: Figures, misses: list[str]) -> str:
    """One row of the table, in milliseconds."""
    values = (
        figures.stalls.longest,
        figures.stalls.busiest,
        figures.stalls.p99,
        figures.collected,
        figures.first,
        p99(figures.echoes),
        max(figures.escapes),
        figures.settled,
        figures.refined,
    )
    cells = "".join(f"{value * 1000:8.0f}" for value in values)
    return f"{name:32} {how:6}{cells}  {' '.join(misses)}".rstrip()


def main() -> int:
    """Feed every document, print the figures, and fail when a limit is missed twice."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    heads = ("stall", "own", "p99", "gc", "first", "echo", "Esc", "settle", "refined")
    print(f"{'milliseconds':39}" + "".join(f"{head:>8}" for head in heads))
    missed = 0
    for name, make in DOCUMENTS.items():
        if wanted not in name:
            continue
        text = make(1.0)
        for whole in (True, False):
            how = "whole" if whole else "tokens"
            figures = asyncio.run(measure(text, whole=whole))
            misses = figures.misses(whole=whole)
            print(line(name, how, figures, misses), flush=True)
            if misses:
                figures = asyncio.run(measure(text, whole=whole))
                again = figures.misses(whole=whole)
                print(line("  once more", how, figures, again), flush=True)
                missed += bool(set(again) & set(misses))
    for name in REFERENCES:
        if wanted in name:
            stall, took, done = asyncio.run(refer(DOCUMENTS[name](1.0)))
            end = f"{took:.1f} s" if done else f"not done after {REFERENCE_S:.0f} s"
            print(f"{name:32} Textual's Markdown: stall {stall * 1000:.0f} ms, {end}", flush=True)
    limits = f"stall {STALL}, p99 and echo {P99}, first {FIRST}, settle {SETTLE}, Esc {ESCAPE} s"
    print(f"{missed} documents miss a limit twice ({limits})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
