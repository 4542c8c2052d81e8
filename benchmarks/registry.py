"""The registry with 2,000 repositories of a hub and 2,000 models of engines.

    python -m benchmarks.registry [ROUNDS]

Timed are what a key press costs in a search, against a bare look through the same names, and how
long the event loop stands still while all is read and put together. The figures are of the best
rounds, since a busy machine only adds.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.known import HubFacts
from ollm_tui.library.registry.storage import save_facts
from ollm_tui.protocol.model import ModelInfo, ModelRef

ROUNDS = 5
MANY = 2000
LIMIT_S = 0.1
"""No key press and no stall of the event loop may take longer."""
TYPED = ("", "m", "mo", "model3 inst", "8b", "nothing")
TICK_S = 0.001


def hub_facts() -> list[HubFacts]:
    return [
        HubFacts(
            HubModel(
                repo=f"owner{n % 40}/Model{n % 37}-{1 + n % 13}B-Instruct-v{n}-GGUF",
                downloads=n * 31 % 100_000,
                modified_at="2026-01-02T03:04:05.000Z",
                tags=("conversational", "gguf"),
            ),
            float(n),
        )
        for n in range(MANY)
    ]


def installed() -> list[tuple[ModelRef, ModelInfo]]:
    names = [f"family{n}:{1 + n % 9}b-q4_K_M" for n in range(MANY)]
    return [(ModelRef("local", name), ModelInfo(name=name)) for name in names]


def best(rounds: int, work: Callable[[], object]) -> float:
    def once() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return min(once() for _ in range(rounds))


async def longest_stall(registry: ModelRegistry) -> float:
    """Return how long nothing else was done while the registry made itself ready."""
    longest, last = 0.0, time.perf_counter()
    async with anyio.create_task_group() as group:

        async def ready() -> None:
            await registry.prepare()
            group.cancel_scope.cancel()

        group.start_soon(ready)
        while True:
            await anyio.sleep(TICK_S)
            now = time.perf_counter()
            longest, last = max(longest, now - last - TICK_S), now
    return longest


def made(folder: Path) -> ModelRegistry:
    registry = ModelRegistry(
        opinions_file=folder / "registry.json", hub_file=folder / "hub.json", now=lambda: 2e9
    )
    registry.note_installed(installed())
    return registry


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_facts(folder / "hub.json", hub_facts())
        stall = min(anyio.run(longest_stall, made(folder)) for _ in range(rounds))
        registry = made(folder)
        cold = best(1, registry.search)
        names = [entry.name.casefold() for entry in registry.search(limit=10 * MANY)]
        costs = {text: best(rounds, lambda text=text: registry.search(text)) for text in TYPED}  # type: ignore[misc]
    bare = best(rounds, lambda: sorted(name for name in names if "mo" in name))
    print(f"{len(names)} entries; a bare look through their names takes {bare * 1000:.1f} ms")
    for text, cost in costs.items():
        print(f"search {text!r:14} {cost * 1000:6.1f} ms  {cost / bare:5.1f} times")
    print(f"longest stall while it is made ready: {stall * 1000:.1f} ms")
    print(f"a first search that does not wait for that: {cold * 1000:.1f} ms")
    worst = max(stall, *costs.values())
    print(f"worst of keys and stall: {worst * 1000:.1f} ms (at most {LIMIT_S * 1000:.0f})")
    return int(worst > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
