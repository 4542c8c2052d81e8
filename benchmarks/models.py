"""The models screen with 2,000 models against a bare DataTable of the same rows.

    python -m benchmarks.models [MODELS] [ROUNDS]

Both are screens with an input above a table, in one headless app, by turns. Opening counts from
pushing the screen until nothing more is drawn, a key press from the change of the input; the table
is cleared and filled with the rows that match, as its users do. What is counted is the processor
time of the program and, beside it, the time until the last frame. The texts of the bare table's
cells are made beforehand, those of the models screen while it counts.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from textual import on
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import DataTable, Input

from ollm_tui.library.machine import Machine
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.models.columns import columns_for
from ollm_tui.tui.models.entry import ModelEntry
from tests.tui.screens import is_ready, services
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime

MODELS, ROUNDS = 2000, 7
LIMIT = 1.5
SIZE = (120, 40)
STILL_S = 0.04
"""So long nothing is drawn when all is."""
QUERIES = ("q", "qw", "qwe", "qwen", "qwen ", "qwen t", "qwen to", "qwen", "q", "", "70b", "")
FAMILIES = ("qwen3", "llama3.3", "gemma3", "mistral-small", "deepseek-r1", "phi4", "granite3.3")
SIZES = ("1b", "4b", "8b", "14b", "32b", "70b")
QUANTIZATIONS = ("Q4_K_M", "Q5_K_M", "Q8_0", "F16")
TEXT = frozenset({"text"})


def models(count: int) -> tuple[ModelInfo, ...]:
    """Make up models as servers list them."""
    return tuple(
        ModelInfo(
            name=f"{FAMILIES[n % 7]}:{SIZES[n % 6]}-{QUANTIZATIONS[n % 4].lower()}-{n:04}",
            size_bytes=(n % 90 + 1) * 730_000_000,
            modified_at=f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}T09:30:00Z",
            capability=None if n % 3 else ModelCapability(TEXT, TEXT, frozenset({"tool_use"})),
            context=4096 * (n % 8 + 1),
            loaded=n % 50 == 0,
            details={"quantization": QUANTIZATIONS[n % 4]},
        )
        for n in range(count)
    )


class BareScreen(Screen[None]):
    """An input and a DataTable."""

    def __init__(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self._heads = heads
        self._rows = rows
        self._texts = [" ".join(row).lower() for row in rows]

    def compose(self) -> ComposeResult:
        """Lay out both."""
        yield Input()
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        """Fill the table."""
        self._table.add_columns(*self._heads)
        self._table.add_rows(self._rows)

    @property
    def _table(self) -> "DataTable[str]":
        return self.query_one(DataTable)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        words = event.value.lower().split()
        texts = zip(self._texts, self._rows, strict=True)
        self._table.clear()
        self._table.add_rows([row for text, row in texts if all(word in text for word in words)])


@dataclass
class Costs:
    """Seconds of each round."""

    cpu: list[float] = field(default_factory=list)
    until_drawn: list[float] = field(default_factory=list)


class Frames:
    """When the app drew last."""

    def __init__(self, app: App[Any]) -> None:
        self.last = 0.0
        self.count = 0
        draw = app._display

        def drawn(*arguments: Any) -> None:
            draw(*arguments)
            self.last = time.perf_counter()
            self.count += 1

        app._display = drawn  # type: ignore[method-assign,assignment]

    async def cost(self, act: Callable[[], object], into: Costs) -> None:
        """Do something, and keep what it cost until nothing more was drawn."""
        seen = self.count
        cpu, begun = time.process_time(), time.perf_counter()
        act()
        while self.count == seen or time.perf_counter() - self.last < STILL_S:
            await anyio.sleep(0.005)
        into.cpu.append(time.process_time() - cpu)
        into.until_drawn.append(self.last - begun)


async def one_round(
    app: App[Any],
    frames: Frames,
    opens: Callable[[], object],
    costs: tuple[Costs, Costs],
) -> None:
    """Open a screen, type into it, and close it."""
    await frames.cost(opens, costs[0])
    entry = app.screen.query_one(Input)
    entry.cursor_blink = False
    keys = Costs()
    for query in QUERIES:
        await frames.cost(lambda query=query: setattr(entry, "value", query), keys)  # type: ignore[misc]
    costs[1].cpu.append(sum(keys.cpu) / len(keys.cpu))
    costs[1].until_drawn.append(sum(keys.until_drawn) / len(keys.until_drawn))
    app.pop_screen()
    await anyio.sleep(0.1)


def report(what: str, ours: Costs, bare: Costs) -> Iterator[float]:
    """Print a line for each measure; return the medians of the rounds' ratios."""
    measures = (("CPU", ours.cpu, bare.cpu), ("until drawn", ours.until_drawn, bare.until_drawn))
    for name, own, other in measures:
        ratio = statistics.median(a / b for a, b in zip(own, other, strict=True))
        figures = [statistics.median(values) * 1000 for values in (own, other)]
        is_met = "ok" if ratio <= LIMIT else "MISSED"
        print(
            f"{what:10} {name:12} {figures[0]:8.1f} ms {figures[1]:8.1f} ms   x{ratio:.2f} {is_met}"
        )
        yield ratio


async def run(count: int, rounds: int) -> float:
    """Compare; return the worst ratio."""
    listing = Listing(provider="many", label="Many", models=models(count))
    entries = [ModelEntry(ModelRef("many", info.name), info, "Many") for info in listing.models]
    columns = columns_for(SIZE[0] - 4, has_fit=False)
    rows = [[column.text(entry) for column in columns] for entry in entries]
    heads = [column.head for column in columns]
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(listing), this_machine=Machine())
    app = OllmApp(services(runtime, Path("config.toml")))
    ours, bare = (Costs(), Costs()), (Costs(), Costs())
    async with app.run_test(size=SIZE) as pilot:
        while not is_ready(app.screen):  # type: ignore[arg-type]
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        app.screen.query_one("Composer").cursor_blink = False  # type: ignore[attr-defined]
        controller = app.screen.controller  # type: ignore[attr-defined]
        frames = Frames(app)
        for number in range(rounds + 1):
            if number == 1:  # the first loads what both need
                ours, bare = (Costs(), Costs()), (Costs(), Costs())
            await one_round(app, frames, lambda: controller.show("manager"), ours)
            await one_round(app, frames, lambda: app.push_screen(BareScreen(heads, rows)), bare)
    print(f"{count} models, median of {rounds} rounds{'models screen':>15}{'DataTable':>12}")
    opening = report("opening", ours[0], bare[0])
    return max(*opening, *report("a key", ours[1], bare[1]))


def main() -> int:
    """Print the figures; fail when the limit is missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MODELS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    return int(anyio.run(run, count, rounds) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
