"""Run one command and end all that it started; run as a program, with the standard library alone.

    python -I -S supervisor.py GRACE REPORT [--streams INPUT ERRORS | --temporary FOLDER]
        PROGRAM [ARGUMENT...]

Standard input is a pipe that its parent holds: if that writes or is gone, the command is stopped.
REPORT is a descriptor that gets lines of JSON: the process of the command, and how it ended. INPUT
and ERRORS are descriptors too; without them the command has no input, and one output. FOLDER is
removed at the end if the command was stopped: the parent may be gone by then. On Linux the
processes whose parents have ended become children of this one, so that those in sessions of their
own are found, too.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.02
KILL_S = 3.0
ENDED = "ZX"
"""The states of processes that have ended."""


class Supervisor:
    """The parent of a command."""

    def __init__(
        self, grace_s: float, command: list[str], streams: tuple[int, int] | None = None
    ) -> None:
        self._grace_s = grace_s
        self._command = command
        self._streams = streams
        self._child = 0
        self.status: int | None = None
        """The status of the command, once it has ended."""
        self.others = 0
        """How many further processes had to be ended."""
        self.is_stopped = False

    def run(self, report: int) -> None:
        """Run the command to its end, then end what is left."""
        adopt_orphans()
        wake, child_ended = os.pipe()
        for end in (wake, child_ended):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(child_ended)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._child = self._start(report)
        while self.status is None and not self.is_stopped:
            ready, _, _ = select.select([0, wake], [], [])
            if wake in ready and set(os.read(wake, 4096)) & {signal.SIGTERM, signal.SIGHUP}:
                self.is_stopped = True
            self.is_stopped = self.is_stopped or 0 in ready
            self._reap()
        self._end_all()

    def _start(self, report: int) -> int:
        child = os.fork()
        if child:
            nothing = os.open(os.devnull, os.O_WRONLY)
            # the output ends with the command's processes
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            for stream in self._streams or ():
                os.close(stream)
            os.write(report, _line({"child": child}))
            return child
        try:
            os.setsid()
            own_input, errors = self._streams or (os.open(os.devnull, os.O_RDONLY), 1)
            os.dup2(own_input, 0)
            os.dup2(errors, 2)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.execv(self._command[0], self._command)
        except OSError as error:
            os.write(report, _line({"refused": error.strerror}))
        finally:
            os._exit(127)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self.status = ended[1]

    def _end_all(self) -> None:
        """Ask everything to end, then kill it; nothing can start more once it was frozen."""
        left = self._left()
        self.others = len(left - {self._child})
        self._signal(left, signal.SIGTERM)
        self._signal(left, signal.SIGCONT)
        until = time.monotonic() + self._grace_s
        while left and time.monotonic() < until:
            time.sleep(POLL_S)
            self._reap()
            left = self._left()
        until = time.monotonic() + KILL_S
        while left and time.monotonic() < until:
            self._signal(left, signal.SIGSTOP)
            frozen, left = left, self._left()
            if left <= frozen:
                self._signal(left, signal.SIGKILL)
                time.sleep(POLL_S / 4)
            self._reap()
            left = self._left()

    def _signal(self, processes: set[int], number: int) -> None:
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        if self._child in processes or not has_process_list():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, number)

    def _left(self) -> set[int]:
        """Return what is left of the command and of all that it started."""
        if has_process_list():
            return descendants(os.getpid())
        try:
            os.killpg(self._child, 0)
        except (ProcessLookupError, PermissionError):
            return set()
        return {self._child}


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended, where the system can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def has_process_list() -> bool:
    """Return whether the system tells the parents of all processes."""
    return sys.platform == "linux" and os.access("/proc/self/stat", os.R_OK)


def descendants(ancestor: int) -> set[int]:
    """Return the living processes below one."""
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if name.isdigit() and (fields := _status(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
            if fields[0] in ENDED:
                dead.add(int(name))
    below: set[int] = set()
    open_ends = [ancestor]
    while open_ends:
        for child in children.get(open_ends.pop(), ()):
            below.add(child)
            open_ends.append(child)
    return below - dead


def _status(process: str) -> list[str]:
    """Return state, parent and what follows in the status of a process; empty if it has ended."""
    try:
        descriptor = os.open(f"/proc/{process}/stat", os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.read(descriptor, 1024).rpartition(b")")[2].decode("ascii").split()
    except OSError:
        return []
    finally:
        os.close(descriptor)


def _line(report: Mapping[str, object]) -> bytes:
    return json.dumps(report).encode() + b"\n"


def main(arguments: list[str]) -> None:
    """Run the command of a command line and report how it ended."""
    grace, report, *command = arguments
    os.set_inheritable(int(report), False)
    streams, temporary = None, None
    if command[0] == "--temporary":
        temporary, command = command[1], command[2:]
    if command[0] == "--streams":
        streams = (int(command[1]), int(command[2]))
        command = command[3:]
        for stream in streams:
            os.set_inheritable(stream, False)
    supervisor = Supervisor(float(grace), command, streams)
    supervisor.run(int(report))
    status = supervisor.status
    code = None if status is None else os.waitstatus_to_exitcode(status)
    words = {"code": code, "others": supervisor.others, "is_stopped": supervisor.is_stopped}
    with contextlib.suppress(BrokenPipeError):
        os.write(int(report), _line(words))
    if temporary is not None and supervisor.is_stopped:
        # A command that ends by itself does not wait for this import.
        import shutil

        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
