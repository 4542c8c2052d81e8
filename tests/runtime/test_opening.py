"""A runtime that opens behind a screen: closing it does not wait for what is still opening."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.runtime import opening as module
from ollm_tui.runtime.opening import opening


async def test_leaving_while_a_package_is_being_imported_ends_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def slow() -> AsyncIterator[object]:
        try:
            seen.append("opening")
            await anyio.sleep_forever()
            yield None
        finally:
            seen.append("closed")

    def load(_flags: Flags) -> Callable[[], AbstractAsyncContextManager[object]]:
        return slow

    monkeypatch.setattr(module, "_load", load)
    monkeypatch.setattr(module, "CLOSING_S", 20.0)
    async with opening(Flags()) as held:
        held.start()
        while not seen:
            await anyio.wait_all_tasks_blocked()
            await anyio.lowlevel.checkpoint()
        left_at = anyio.current_time()
    assert anyio.current_time() - left_at < 10.0, "the time for closing was not used up"
    assert seen == ["opening", "closed"]


async def test_a_runtime_that_is_open_is_closed_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def quick() -> AsyncIterator[str]:
        yield "runtime"
        # Nothing is cancelled: what is closed here may have to wait for its end.
        await anyio.lowlevel.checkpoint()
        seen.append("closed")

    def load(_flags: Flags) -> Callable[[], AbstractAsyncContextManager[object]]:
        return quick

    monkeypatch.setattr(module, "_load", load)
    async with opening(Flags()) as held:
        runtime: object = await held.runtime()
        assert runtime == "runtime"
    assert seen == ["closed"]
