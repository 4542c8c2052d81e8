"""Stop a run without a screen by signal: the first aborts the answer and keeps what arrived.

A second one, or a run that does not end in time, ends the process at once.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import anyio

from ollm_tui.protocol.signals import AbortSignal

GRACE_S = 5.0
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stop:
    """A request to end the run: the number of its signal."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.signal = AbortSignal()
        self.number: int | None = None
        self.answering = False
        """Whether the task handles `signal`; if not, the whole run is cancelled."""
        self._scope = scope
        self._loop = asyncio.get_running_loop()

    @property
    def exit_code(self) -> int:
        """The code by which a shell knows the signal."""
        return 128 + (self.number or signal.SIGINT)

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal; runs between two instructions of the main thread."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        watchdog = threading.Timer(GRACE_S, os._exit, (self.exit_code,))
        watchdog.daemon = True
        watchdog.start()
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self.answering:
            self.signal.abort()
        else:
            self._scope.cancel()


@contextmanager
def stopping() -> Iterator[Stop]:
    """Listen to the signals that end a run; one that the parent has switched off stays so."""
    with anyio.CancelScope() as scope:
        stop = Stop(scope)
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        heeded = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop.handle) for number in heeded}
        try:
            yield stop
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
