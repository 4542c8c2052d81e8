"""How tests of the contract ask a rig, and what they look at."""

import asyncio

import anyio

import ollm_tui
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import Request
from tests.contract.rig import Rig

NOTICED_S = 5.0
PROGRAM = f"{ollm_tui.__name__}."
"""How the names of the program's tasks begin: each is named after what it runs. Their paths do not
tell: a clone of the project may have its name too."""


async def events_of(rig: Rig, request: Request) -> list[ProviderEvent]:
    async with rig.provider.chat_stream(request) as stream:
        events = [event async for event in stream]
        assert [event async for event in stream] == [], "nothing may follow the end"
    return events


def ends_of(events: list[ProviderEvent]) -> list[Finish | ErrorEvent]:
    return [event for event in events if isinstance(event, Finish | ErrorEvent)]


async def all_quiet(rig: Rig) -> None:
    """Wait until the backend has noticed; then only this test and the rig's own tasks remain."""
    with anyio.fail_after(NOTICED_S):
        while rig.answering():
            await anyio.sleep(0.001)


def tasks() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if not task.done()}


async def no_task_left(before: set[asyncio.Task[object]]) -> None:
    """Connections of the fake server may still be closing; ours may not."""
    with anyio.fail_after(NOTICED_S):
        while any(task.get_name().startswith(PROGRAM) for task in tasks() - before):
            await anyio.sleep(0.001)
