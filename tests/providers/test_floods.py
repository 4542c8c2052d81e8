"""Servers that send without end or measure meet a limit that is named, and the memory stays."""

import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from tests.providers.flooded import can_measure
from tests.providers.floods import FLOODS, flooding

MAX_MB = 50
BOUND_S = 120
KINDS = [
    "openai-compatible",
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ollama", "anthropic", "openai")),
]


async def outcomes(kind: str) -> dict[str, dict[str, Any]]:
    """Let a client in a process of its own meet every flood of this kind, one after the other."""
    met = {name: flood for name, flood in FLOODS.items() if kind in flood.kinds}
    async with AsyncExitStack() as stack:
        jobs = [
            {
                "kind": kind,
                "url": await stack.enter_async_context(flooding(flood, kind)),
                "asked": flood.asked,
                "clock_s": flood.clock_s,
            }
            for flood in met.values()
        ]
        with anyio.fail_after(BOUND_S):
            done = await anyio.run_process(
                [sys.executable, "-m", "tests.providers.flooded"], input=json.dumps(jobs).encode()
            )
    return dict(zip(met, json.loads(done.stdout), strict=True))


@pytest.mark.slow
@pytest.mark.skipif(not can_measure, reason="this system does not tell the peak of memory")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_flood_ends_in_one_error_that_names_its_limit(kind: str) -> None:
    met = await outcomes(kind)
    assert len(met) >= 14
    for name, outcome in met.items():
        growth, seconds = outcome["growth_mb"], outcome["seconds"]
        sys.stdout.write(f"{name:34}{growth:6.1f} MB {seconds:6.2f} s  {outcome['message'][:80]}\n")
    assert {name: outcome["ends"] for name, outcome in met.items()} == dict.fromkeys(met, 1)
    assert {name: outcome["calls"] for name, outcome in met.items()} == dict.fromkeys(met, 0)
    unnamed = {n: o["message"] for n, o in met.items() if FLOODS[n].says not in o["message"]}
    assert unnamed == {}
    large = {n: o["growth_mb"] for n, o in met.items() if o["growth_mb"] > MAX_MB}
    assert large == {}
