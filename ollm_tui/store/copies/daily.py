"""Makes a copy of the saved chats each day, while the app is open."""

import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

logger = logging.getLogger(__name__)
FIRST_LOOK_S: Final = 60.0
"""The start of the app is busy enough."""
LOOK_EVERY_S: Final = 3600.0


class DailyCopies:
    """Makes copies once it was started; nothing is read or loaded before."""

    def __init__(
        self, path: Path, group: "TaskGroup", today: Callable[[], date] = date.today
    ) -> None:
        self._path = path
        self._group = group
        self._today = today
        self._stopping = threading.Event()
        self._is_started = False

    def start(self, first_look_s: float = FIRST_LOOK_S) -> None:
        """Begin to look; a second call is a no-op."""
        if not self._is_started:
            self._is_started = True
            self._group.start_soon(self._look, first_look_s)

    def stop(self) -> None:
        """End a copy that is being made."""
        self._stopping.set()

    async def _look(self, wait_s: float) -> None:
        while True:
            await anyio.sleep(wait_s)
            await self.make()
            wait_s = LOOK_EVERY_S

    async def make(self) -> None:
        """Make the copy of today, unless there is one; a problem goes into the log."""
        # Loaded with the first copy.
        from ollm_tui.store.copies.files import Stopped, make_copy

        work = partial(make_copy, self._path, self._today(), self._stopping.is_set)
        try:
            made = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except (OSError, sqlite3.Error) as error:
            logger.warning("The saved chats could not be copied: %s", error)
        except Stopped:
            logger.info("The copy of the saved chats was stopped")
        else:
            if made is not None:
                logger.info("Copied the saved chats to %s", made.path)


@asynccontextmanager
async def daily_copies(path: Path) -> AsyncIterator[DailyCopies]:
    """Yield the copies of a database; leaving the block stops them."""
    async with anyio.create_task_group() as group:
        copies = DailyCopies(path, group)
        try:
            yield copies
        finally:
            copies.stop()
            group.cancel_scope.cancel()
