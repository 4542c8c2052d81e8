"""Processes of the program that are copies of one which has imported its modules already.

Importing them takes most of the time of a short command. A copy reads its command line, environment
the folders of `PYTHONPATH` and streams as a new process does; what a new process does differently
(the rest of its environment as Python reads it, how it starts and what it imports) is tried with
new ones.
"""

import contextlib
import fcntl
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import NoReturn

MAX_BYTES = 1 << 18
"""Bytes of a command line with its environment."""
PACKAGES = ("cli", "config", "providers", "runtime", "store", "library", "tools", "tui")
PROGRAM = ("-m", "ollm_tui")


class Running:
    """A copy that runs, as `subprocess.Popen` tells of a process."""

    def __init__(self, report: socket.socket) -> None:
        self._report = report
        self._code: int | None = None
        self.pid = int(report.recv(MAX_BYTES))

    def wait(self) -> int:
        with self._report:
            self._code = int(self._report.recv(MAX_BYTES))
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Forks:
    """A process that copies itself for each command."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # As `-P -m ollm_tui` does, it looks for modules neither here nor beside this file.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                env=environ,
                # Streams of Python remember of what kind they are.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )

    def start(
        self,
        arguments: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: Path,
        streams: Sequence[int],
        has_terminal: bool = False,
    ) -> Running:
        """Start what `python -P` is given, `-m ollm_tui ...` or `-c CODE ...`, with these streams.

        One that has a terminal begins a session of its own, whose terminal its input is.
        """
        told = [list(arguments), dict(environ), str(cwd), has_terminal]
        report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            message = json.dumps(told).encode("utf-8")
            socket.send_fds(self._channel, [message], [theirs.fileno(), *streams])
        return Running(report)

    def run(
        self,
        arguments: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: Path,
        given: bytes | None,
        timeout_s: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one command as `subprocess.run` does; `given` is what it reads, if anything."""
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = (
            (os.open(os.devnull, os.O_RDONLY), None) if given is None else os.pipe(),
            os.pipe(),
            os.pipe(),
        )
        theirs = [read_in, write_out, write_err]
        running = self.start([*PROGRAM, *arguments], environ=environ, cwd=cwd, streams=theirs)
        for stream in theirs:
            os.close(stream)
        with ThreadPoolExecutor(3) as threads:
            if write_in is not None and given is not None:
                threads.submit(_write, write_in, given)
            out, err = threads.submit(_read, read_out), threads.submit(_read, read_err)
            timer = threading.Timer(timeout_s, running.kill)
            timer.start()
            try:
                code = running.wait()
            finally:
                timer.cancel()
        return subprocess.CompletedProcess(list(arguments), code, out.result(), err.result())

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self._process.communicate()


def _read(stream: int) -> bytes:
    with open(stream, "rb") as file:
        return file.read()


def _write(stream: int, content: bytes) -> None:
    # A command may end without reading what it is given.
    with contextlib.suppress(BrokenPipeError), open(stream, "wb") as file:
        file.write(content)


def _import_all() -> None:
    for package in map(import_module, (f"ollm_tui.{name}" for name in PACKAGES)):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError):
                import_module(module.name)
    gc.freeze()


def _become(environ: Mapping[str, str], cwd: str, *, has_terminal: bool) -> None:
    os.chdir(cwd)
    _look_in(environ.get("PYTHONPATH", ""))
    os.environ.clear()
    os.environ.update(environ)
    if has_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=stream.isatty())  # type: ignore[union-attr]


def _look_in(folders: str) -> None:
    """Look for modules in these folders instead of those that this process was given."""
    given = os.environ.get("PYTHONPATH", "")
    if folders != given:
        sys.path[: len(given.split(os.pathsep))] = folders.split(os.pathsep)


def _serve(channel: socket.socket) -> list[str]:
    """Copy this process for each command; return in the copies alone, what they are to run."""
    # Nobody waits for the processes that watch over a copy.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, (*streams,), _, _ = socket.recv_fds(channel, MAX_BYTES, 4)
        if not message:
            os._exit(0)
        if not os.fork():
            break
        _close(streams)
    channel.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    report, *theirs = streams
    if process := os.fork():
        _close(theirs)
        _watch(process, report)
    for number, stream in enumerate(theirs):
        os.dup2(stream, number)
    _close(streams)
    arguments: list[str]
    arguments, environ, cwd, has_terminal = json.loads(message)
    _become(environ, cwd, has_terminal=has_terminal)
    return arguments


def _watch(process: int, report: int) -> NoReturn:
    """Tell which process it is and how it ends."""
    with socket.socket(fileno=report) as told:
        told.send(str(process).encode())
        status = os.waitpid(process, 0)[1]
        # Who started it may have gone.
        with contextlib.suppress(BrokenPipeError):
            told.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _close(streams: Sequence[int]) -> None:
    for stream in streams:
        os.close(stream)


def _run(what: str, name: str, *arguments: str) -> None:
    sys.argv[1:] = arguments
    if what == "-m":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        exec(name, {"__name__": "__main__"})


if __name__ == "__main__":
    _import_all()
    with socket.socket(fileno=int(sys.argv[1])) as served:
        given = _serve(served)
    _run(*given)
