"""Open a runtime behind a screen that is already shown.

Importing this module is cheap; `start` imports settings, HTTP client and providers in a thread.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from anyio.abc import TaskGroup

    from ollm_tui.config.flags import Flags
    from ollm_tui.runtime.compose import Runtime

logger = logging.getLogger(__name__)
CLOSING_S = 3.0


class RuntimeOpener:
    """A runtime that is being opened; states: waiting -> loading -> open (or failed) -> closed."""

    def __init__(self, group: "TaskGroup", flags: "Flags") -> None:
        self._group = group
        self._flags = flags
        self._started = False
        self._settled = anyio.Event()
        self._leave = anyio.Event()
        self._scope = anyio.CancelScope()
        self._closed = anyio.Event()
        self._runtime: Runtime | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Begin to load; a no-op in a second call."""
        if not self._started:
            self._started = True
            self._group.start_soon(self._hold)

    async def runtime(self) -> "Runtime":
        """Wait until the runtime is open and return it; starts it if needed.

        Raises:
            AIError: the runtime could not be opened.
        """
        self.start()
        await self._settled.wait()
        if self._error is not None:
            raise self._error
        if self._runtime is None:
            raise RuntimeError("the runtime was closed before it was open")
        return self._runtime

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets of the settings, as far as they were read."""
        return () if self._runtime is None else tuple(self._runtime.secrets())

    async def close(self) -> None:
        """Close the runtime and wait for that; cancels one that is still opening."""
        self._leave.set()
        if not self._settled.is_set():
            self._scope.cancel()
        if self._started:
            await self._closed.wait()

    async def _hold(self) -> None:
        try:
            with self._scope:
                opener = await anyio.to_thread.run_sync(_load, self._flags)
                async with opener() as runtime:
                    self._runtime = runtime
                    self._settled.set()
                    await self._leave.wait()
        except Exception as error:  # kept for `runtime()`, which raises it where it can be shown
            logger.exception("The runtime could not be opened")
            self._error = error
        finally:
            self._settled.set()
            self._closed.set()


def _load(flags: "Flags") -> "Callable[[], AbstractAsyncContextManager[Runtime]]":
    """Import and read everything that takes time; runs in a thread."""
    # The first frame does not wait for it: httpx and the adapters take most of the start.
    from ollm_tui.runtime.compose import load_runtime

    return load_runtime(flags)


@asynccontextmanager
async def opening(flags: "Flags") -> AsyncIterator[RuntimeOpener]:
    """Yield an `RuntimeOpener` whose runtime ends with the block."""
    async with anyio.create_task_group() as group:
        held = RuntimeOpener(group, flags)
        try:
            yield held
        finally:
            with anyio.move_on_after(CLOSING_S, shield=True):
                await held.close()
            group.cancel_scope.cancel()
