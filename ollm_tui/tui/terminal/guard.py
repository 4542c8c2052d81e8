"""Check the terminal before the app runs, and restore it however the app ends.

A signal asks the app to exit in good order. If that takes longer than the grace period, because a
write blocks or a worker hangs, the terminal is restored from here and the process ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

    from ollm_tui.frontend.first_frame import FirstFrame


SWITCH_S: Final = 0.0005


@contextmanager
def prompt_threads() -> Iterator[None]:
    """Shorten the interpreter's switch interval while the app runs.

    A thread that waits for the interpreter requests it only after a whole switch interval in which
    it was not released (`ceval_gil.c`). The event loop releases it at every read of an answer and
    takes it back at once, so with Python's 5 ms a key waited up to 45 ms to be read, and a frame as
    long to be written, during a fast answer. The shorter interval costs something only while
    threads compete.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


if sys.platform != "win32":
    import termios


GRACE_S: Final = 5.0
"""The longest time from the signal to the end; the runtime needs up to 2 s to close."""

_EXIT_SIGNALS: Final = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT")

RESET: Final = (
    "\x1b[?2026l"  # show what is drawn
    "\x1b[?2004l\x1b[?7h\x1b[?2048l"  # no paste marks, wrap lines, no resize reports
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # no mouse
    "\x1b[<u"  # the keyboard as it was, before the screen it belongs to goes
    "\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"  # normal screen, cursor, no focus reports, no colour
)
"""Undoes everything the app or Textual's driver may have switched on."""


def check_terminal(
    environment: Mapping[str, str] | None = None, streams: Mapping[str, TextIO | None] | None = None
) -> str | None:
    """Return a sentence on why the full-screen app cannot run here, or None if it can."""
    environment = os.environ if environment is None else environment
    if streams is None:
        streams = {"input": sys.__stdin__, "output": sys.__stdout__, "error output": sys.__stderr__}
    for name, stream in streams.items():
        if not _is_terminal(stream):
            return f'The chat needs a terminal, but standard {name} is not one; try ollm -p "...".'
    if sys.platform != "win32" and environment.get("TERM", "") in {"", "dumb", "unknown"}:
        term = environment.get("TERM") or "not set"
        return f'The chat needs a full-screen terminal, but TERM is {term}; try ollm -p "...".'
    return None


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        # a closed stream raises
        return False


def driver_class(first_frame: "FirstFrame | None" = None) -> "type[Driver] | None":
    """Return the driver for `App(driver_class=...)`; None leaves the choice to Textual.

    It takes the terminal from `first_frame`.
    """
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    # needs termios, which Windows lacks, and loads Textual, which `check_terminal` must not
    from ollm_tui.tui.terminal.driver import TerminalDriver

    if first_frame is None:
        return TerminalDriver
    return cast("type[Driver]", partial(TerminalDriver, first_frame=first_frame))


def set_title(app: "App[Any]", title: str) -> None:
    """Set the title of the terminal's window, if the driver can; it is restored at exit."""
    if (setter := getattr(app._driver, "set_title", None)) is not None:
        setter(title)


@contextmanager
def exit_signals(
    app: "App[Any]", grace_s: float = GRACE_S, *, before: "list[Any] | None" = None
) -> Iterator[None]:
    """Turn signals into `app.exit(return_code=128 + n)` and restore the terminal at the end.

    `before` is how `termios` described it, if it has been changed since the program was started.
    Enter it in the running event loop, around everything that must be closed when the app ends.
    """
    line = _Line(before)
    watch = _SignalWatch(app, asyncio.get_running_loop(), line, grace_s)
    handlers = {number: signal.signal(number, watch.note) for number in watch.exits}
    wakeup = signal.set_wakeup_fd(watch.descriptor, warn_on_full_buffer=False)
    watch.start()
    try:
        yield
    finally:
        try:
            signal.set_wakeup_fd(wakeup)
            # the interpreter ends with default handlers: one more signal would kill it then
            watched = watch.stop()
            for number, handler in handlers.items():
                signal.signal(number, handler if watched else signal.SIG_IGN)
        finally:
            # whatever has failed: in a shell without its line settings nothing can be typed
            line.restore_with_screen()


class _SignalWatch(threading.Thread):
    """Acts on signals in a thread, because the main thread, where handlers run, may hang.

    The interpreter writes each signal to its wake-up descriptor at once.
    """

    def __init__(
        self, app: "App[Any]", loop: asyncio.AbstractEventLoop, line: "_Line", grace_s: float
    ) -> None:
        super().__init__(name="exit-signals", daemon=True)
        self._app = app
        self._loop = loop
        self._line = line
        self._grace_s = grace_s
        self._return_code: int | None = None
        self.exits = frozenset(n for n in signal.Signals if n.name in _EXIT_SIGNALS)
        self._read, self.descriptor = os.pipe()
        os.set_blocking(self.descriptor, False)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal, even if something else has taken the wake-up descriptor."""
        with contextlib.suppress(OSError):
            os.write(self.descriptor, bytes([number]))

    def stop(self) -> bool:
        """Stop watching; return False after a signal, whose grace period goes on."""
        if self._return_code is not None:
            return False
        os.write(self.descriptor, bytes(1))
        self.join()
        os.close(self._read)
        os.close(self.descriptor)
        return True

    def run(self) -> None:
        """Wait for a signal, ask the app to exit, and end the process if that takes too long."""
        while number := os.read(self._read, 1)[0]:
            is_exit = number in self.exits
            # closing a window sends several signals; the first one counts
            if is_exit:
                self._return_code = 128 + number
            # wakes the event loop, so that its handler runs now; it may have ended with the app
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._leave if is_exit else lambda: None)
            if is_exit:
                break
        else:
            return
        # never set: it only waits for the time
        threading.Event().wait(self._grace_s)
        _seize_terminal()
        self._line.restore()
        os._exit(self._return_code or 1)

    def _leave(self) -> None:
        self._app.exit(return_code=self._return_code or 0)


class _Line:
    """The line settings of standard input, as they are if none are given."""

    def __init__(self, settings: "list[Any] | None") -> None:
        self._settings = settings or _line_settings()

    def restore_with_screen(self) -> None:
        """Restore what the driver has left changed."""
        try:
            if self._settings is not None and _line_settings() not in (None, self._settings):
                _write_reset()
        finally:
            self.restore()

    def restore(self) -> None:
        if self._settings is not None and sys.platform != "win32":
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._settings)


def _line_settings() -> "list[Any] | None":  # what termios says it returns
    if sys.platform == "win32":
        return None
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _write_reset(descriptor: int = 2) -> None:
    """Write to the terminal without Python's buffers and without blocking."""
    with contextlib.suppress(OSError):
        is_blocking = os.get_blocking(descriptor)
        os.set_blocking(descriptor, False)
        try:
            os.write(descriptor, RESET.encode("ascii"))
        finally:
            os.set_blocking(descriptor, is_blocking)


def _seize_terminal() -> None:
    """Restore a terminal to which the app may still be writing."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError, termios.error):
        terminal = os.dup(2)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        # a thread that is blocked in a write to the terminal holds its lock; a signal, which has a
        # handler by now, wakes it up, and what it writes from then on goes nowhere.
        for thread in threading.enumerate():
            if thread.ident is not None and thread is not threading.current_thread():
                signal.pthread_kill(thread.ident, signal.SIGTERM)
        threading.Event().wait(0.02)
        termios.tcflush(terminal, termios.TCOFLUSH)
        os.set_blocking(terminal, False)
        # What was thrown away may have ended within a sequence, which CAN cancels.
        os.write(terminal, b"\x18")
        os.set_blocking(terminal, True)
        _write_reset(terminal)
