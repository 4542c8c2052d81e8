"""Another program, such as an editor, on the terminal of this one, until it ends or is ended.

The program runs in a process group of its own that has the terminal, as a shell would start it: the
keys Ctrl+C and Ctrl+Z reach the program alone. The event loop goes on meanwhile.
"""

import contextlib
import os
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import anyio

POLL_S: Final = 0.03
"""How often the program is looked at; a wait would take a thread that cannot be cancelled."""
KILL_AFTER_S: Final = 0.5
_STOPPED_WITHIN_S: Final = 0.05


class ForegroundProgram:
    """One program with the terminal of this process: `start` it, `wait` for it, `end` it."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], reset: bytes = b""
    ) -> None:
        """Prepare it; `reset` is written if it failed, since it may have left anything on."""
        self._reset = reset
        self.terminal: Final = 0
        self._command = command
        self._environ = environ
        self._popen: subprocess.Popen[bytes] | None = None
        self._line: list[Any] | None = None
        self._has_ended_well = False

    def start(self) -> None:
        """Start it in the foreground.

        Raises:
            OSError: it cannot be started.
        """
        with contextlib.suppress(termios.error):
            self._line = termios.tcgetattr(self.terminal)
        with _collected(signal.SIGINT, signal.SIGQUIT) as pressed:
            self._popen = subprocess.Popen(self._command, env=dict(self._environ), process_group=0)
            self._put_forward(self._popen.pid)
        # it may have used the terminal before it was allowed to
        self._signal(signal.SIGCONT)
        for number in pressed:
            self._signal(number)

    async def wait(self) -> int:
        """Wait until it ends; if it is suspended, this program is, too."""
        assert self._popen is not None
        while True:
            if (code := self._look(self._popen)) is not None:
                self._has_ended_well = code == 0
                return code
            await anyio.sleep(POLL_S)

    def _look(self, popen: "subprocess.Popen[bytes]") -> int | None:
        """Return the exit code if it has ended; if it was stopped, stop this program, too."""
        pid, status = os.waitpid(popen.pid, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            self._suspend()
            return None
        popen.returncode = os.waitstatus_to_exitcode(status)
        return popen.returncode

    def end(self) -> None:
        """End it if it still runs, and restore the line settings; a no-op the second time."""
        popen, self._popen = self._popen, None
        if popen is None:
            return
        self._put_forward(os.getpgrp())
        if popen.returncode is None:
            _kill(popen)
        if not self._has_ended_well:
            with contextlib.suppress(OSError):
                os.write(self.terminal, self._reset)
        self._restore(self._line)

    def _suspend(self) -> None:
        """Suspend the whole job, as the shell expects it, and resume with the program."""
        line: list[Any] | None = None
        if os.getpgrp() == os.getsid(0):
            # no shell could continue this process
            self._signal(signal.SIGCONT)
            return
        with contextlib.suppress(termios.error):
            line = termios.tcgetattr(self.terminal)
        self._put_forward(os.getpgrp())
        self._restore(self._line)
        self._stop_job()
        self._restore(line)
        if self._popen is not None:
            self._put_forward(self._popen.pid)
            self._signal(signal.SIGCONT)

    def _stop_job(self) -> None:
        """Stop this process until it is continued in the foreground."""
        while True:
            os.killpg(0, signal.SIGTSTP)
            # the handler, which stops the process, runs within this pause
            time.sleep(_STOPPED_WITHIN_S)
            with contextlib.suppress(OSError):
                if os.tcgetpgrp(self.terminal) != os.getpgrp():
                    continue
            return

    def _signal(self, number: signal.Signals) -> None:
        if self._popen is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def _put_forward(self, group: int) -> None:
        with _undisturbed(), contextlib.suppress(OSError):
            os.tcsetpgrp(self.terminal, group)

    def _restore(self, line: list[Any] | None) -> None:
        if line is not None:
            with _undisturbed(), contextlib.suppress(termios.error):
                termios.tcsetattr(self.terminal, termios.TCSADRAIN, line)


def _kill(popen: "subprocess.Popen[bytes]") -> None:
    """Hang up, as a closed terminal does, then kill the whole group."""
    for number in (signal.SIGCONT, signal.SIGHUP):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(popen.pid, number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.wait(KILL_AFTER_S)
    if popen.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(popen.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(KILL_AFTER_S)


@contextlib.contextmanager
def _collected(*numbers: signal.Signals) -> Iterator[list[signal.Signals]]:
    """Collect signals of keys that are meant for a program which does not have the terminal yet."""
    pressed: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        # the chat in lines starts programs in a thread, and only the main thread may set handlers
        yield pressed
        return
    # a handler, since a program would inherit a signal that is ignored
    before = {
        number: signal.signal(number, lambda received, _: pressed.append(signal.Signals(received)))
        for number in numbers
    }
    # who watches it would take the key for its own, whatever the handler
    wakeup = signal.set_wakeup_fd(-1)
    try:
        yield pressed
    finally:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let a process in the background change the terminal, which would stop it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
