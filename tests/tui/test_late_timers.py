"""Timers that fire once, on a machine that pauses at any moment."""

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from textual import timer as timer_module
from textual.message_pump import MessagePump
from textual.timer import Timer

from ollm_tui.tui import crash


@pytest.fixture
def pauses() -> Iterator[None]:
    """A second passes between any two looks of a timer at the clock."""
    seconds = count(1000.0)
    clock = SimpleNamespace(get_time=lambda: next(seconds))
    with patch.object(timer_module, "_time", clock):
        yield


async def has_fired() -> bool:
    fired: list[bool] = []

    async def fire() -> None:
        fired.append(True)

    timer = Timer(MessagePump(), 0.5, callback=fire, repeat=0)
    await timer._run()
    return bool(fired)


@pytest.fixture
def tick_directly() -> Iterator[None]:
    async def tick(self: Timer, *, next_timer: float, count: int) -> None:
        assert self._callback is not None
        await self._callback()

    with patch.object(Timer, "_tick", tick):
        yield


@pytest.mark.usefixtures("pauses", "tick_directly")
async def test_the_stock_timer_still_drops_what_is_late() -> None:
    # When this fails Textual has mended it: drop `_run_once_or_more`.
    with patch.object(Timer, "_run", crash._STOCK_RUN_TIMER):
        assert not await has_fired()


@pytest.mark.usefixtures("pauses", "tick_directly")
async def test_a_timer_that_fires_once_fires_however_late_it_is() -> None:
    crash.mend_textual()
    assert await has_fired()
