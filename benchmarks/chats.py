"""The chats screen with 10,000 chats against a bare DataTable of the same rows.

    python -m benchmarks.chats [CHATS] [ROUNDS]

Both are screens with an input above a table, in one headless app, by turns. The chats are in a real
store on the disk. Opening counts from pushing the screen until nothing more is drawn, a key press
from the change of the input. The rows of the bare table are made beforehand; it is cleared and
filled with the rows that match, as its users do.
"""

import sqlite3
import statistics
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from benchmarks.models import BareScreen, Costs, Frames, one_round
from ollm_tui.runtime.saved.chats import SavedChats
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.listing import ChatFilter
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.chats.columns import columns_for
from tests.tui.screens import is_ready, services
from tests.tui.scripted import ScriptedRuntime

CHATS, ROUNDS = 10_000, 7
LIMIT_MS = 150.0
SIZE = (120, 40)
NOW_MS = 1_795_000_000_000
MODELS = ("local://qwen3:8b", "local://llama3.3:70b", "embedded://smollm2", None)
TOPICS = ("Sky colours", "Holiday in Norway", "Parser that fails", "Rye bread", "Tax of a house")


async def fill(path: Path, count: int) -> None:
    """Make a store with so many chats of two messages."""
    async with open_store(path):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        for n in range(count):
            at = NOW_MS - n * 3_600_000
            connection.execute(
                "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, model,"
                " options, leaf_id, tags, is_pinned)"
                " VALUES (?, ?, 'question', ?, ?, ?, '{}', ?, ?, ?)",
                (
                    *(f"c{n}", f"{TOPICS[n % 5]} {n}", at, at, MODELS[n % 4], f"m{n}b"),
                    *(" work " if n % 7 == 0 else "", int(n % 2000 == 1999)),
                ),
            )
            for end, role, parent in (("a", "user", None), ("b", "assistant", f"m{n}a")):
                body = f'{{"role":"{role}","content":"{TOPICS[n % 5] * 20}"}}'
                connection.execute(
                    "INSERT INTO messages (id, conversation_id, parent_id, depth, role, state,"
                    " created_ms, updated_ms, body) VALUES (?, ?, ?, ?, ?, 'complete', ?, ?, ?)",
                    (f"m{n}{end}", f"c{n}", parent, 1 if parent is None else 2, role, at, at, body),
                )


async def bare_rows(store: ConversationStore) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of the bare table."""
    columns = columns_for(SIZE[0] * 3 // 5)
    numbers = await store.listing.order(ChatFilter())
    rows = await store.listing.rows(numbers)
    texts = [[column.text(rows[number], NOW_MS) for column in columns] for number in numbers]
    return [column.head for column in columns], texts


def report(what: str, ours: Costs, bare: Costs) -> Iterator[float]:
    """Print a line for each measure; return the medians of our times until drawn, in ms."""
    measures = (("CPU", ours.cpu, bare.cpu), ("until drawn", ours.until_drawn, bare.until_drawn))
    for name, own, other in measures:
        figures = [statistics.median(values) * 1000 for values in (own, other)]
        is_met = "ok" if figures[0] <= LIMIT_MS else "MISSED"
        print(f"{what:10} {name:12} {figures[0]:8.1f} ms {figures[1]:10.1f} ms   {is_met}")
        if name != "CPU":
            yield figures[0]


async def run(count: int, rounds: int) -> float:
    """Compare; return the longest of our times until drawn, in ms."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chats.db"
        await fill(path, count)
        async with open_store(path) as store:
            heads, rows = await bare_rows(store)
            runtime = ScriptedRuntime()
            runtime.saved = SavedChats(store)  # type: ignore[assignment]
            app = OllmApp(services(runtime, Path(folder) / "config.toml"))
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
                    await one_round(app, frames, lambda: controller.show("chats"), ours)
                    await one_round(
                        app, frames, lambda: app.push_screen(BareScreen(heads, rows)), bare
                    )
    print(f"{count} chats, median of {rounds} rounds{'chats screen':>14}{'DataTable':>13}")
    opening = report("opening", ours[0], bare[0])
    return max(*opening, *report("a key", ours[1], bare[1]))


def main() -> int:
    """Print the figures; fail when the limit is missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CHATS
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    return int(anyio.run(run, count, rounds) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
