"""Ask flooding servers from a process of its own and tell as JSON what that took.

`python -m tests.providers.flooded` reads a JSON list of objects from its input, each with `kind`,
`url`, `asked` (`chat` or `list`) and `clock_s` (how long every clock of the client runs), and
prints a list with what came of each. `growth_mb` is the peak of the process's memory above what
it was after an ordinary answer.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    RemembersListError,
    SupportsDispose,
    SupportsList,
)
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, ToolCallEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fakes import FAKES
from tests.support.http_server import serve

MEMORY = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")
can_measure = MEMORY.exists() and FORGET_PEAK.exists()


def memory_mb(which: str) -> float:
    """Read what the kernel counts: `VmRSS` now, `VmHWM` at most."""
    lines = MEMORY.read_text("ascii").splitlines()
    (line,) = [line for line in lines if line.startswith(f"{which}:")]
    return int(line.split()[1]) / 1024


async def ends_of_chat(provider: ProviderAdapter) -> list[ProviderEvent]:
    """Give the ends and the calls of an answer; its text is not kept."""
    asked = Request(model="tiny", messages=[Message("user", "hello")])
    async with provider.chat_stream(asked) as events:
        kept = (Finish, ErrorEvent, ToolCallEvent)
        return [event async for event in events if isinstance(event, kept)]


async def error_of_list(provider: ProviderAdapter) -> AIError | None:
    assert isinstance(provider, SupportsList)
    try:
        await provider.list_models()
    except AIError as error:
        return error
    return provider.last_error if isinstance(provider, RemembersListError) else None


async def ask(job: Mapping[str, Any]) -> dict[str, object]:
    clock_s = float(job["clock_s"])
    spec = ProviderSpec(
        name="p",
        kind=job["kind"],
        base_url=job["url"],
        first_byte_timeout_s=clock_s,
        idle_timeout_s=clock_s,
        list_timeout_s=clock_s,
    )
    provider = create_provider(spec)
    try:
        if job["asked"] == "list":
            error = await error_of_list(provider)
            return {"ends": int(error is not None), "calls": 0, "message": str(error)}
        events = await ends_of_chat(provider)
    finally:
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    endings = [str(end.error) if isinstance(end, ErrorEvent) else end.reason for end in ends]
    return {"ends": len(ends), "calls": len(events) - len(ends), "message": " ".join(endings)}


async def measured(job: Mapping[str, Any]) -> dict[str, object]:
    FORGET_PEAK.write_text("5", "ascii")
    before, began = memory_mb("VmRSS"), time.monotonic()
    outcome = await ask(job)
    growth = memory_mb("VmHWM") - before
    return outcome | {"growth_mb": growth, "seconds": time.monotonic() - began}


async def run() -> None:
    jobs = json.load(sys.stdin)
    for kind in {job["kind"] for job in jobs}:  # have loaded what an ordinary answer needs
        async with serve(FAKES[kind]) as server:
            for asked in ("chat", "list"):
                await ask({"kind": kind, "url": server.url, "asked": asked, "clock_s": 10})
    sys.stdout.write(json.dumps([await measured(job) for job in jobs]))


if __name__ == "__main__":
    anyio.run(run)
