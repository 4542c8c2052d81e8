"""Processes of the program that are copies of one which has imported its modules already.

Importing them takes most of the time of a short command. A copy reads its command line, environment
the folders of `PYTHONPATH` and streams as a new process does; what a new process does differently
(the rest of its environment as Python reads it, how it starts and what it imports) is tried with
new ones.
"""

import contextlib
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

LARGEST = 1 << 18
"""Bytes of a command line with its environment."""
PACKAGES = ("cli", "config", "providers", "runtime", "store", "library", "tools")


class Forks:
    """A process that copies itself for each command, one after the other."""

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
        message = json.dumps([*arguments, dict(environ), str(cwd)]).encode("utf-8")
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = (
            (os.open(os.devnull, os.O_RDONLY), None) if given is None else os.pipe(),
            os.pipe(),
            os.pipe(),
        )
        theirs = [read_in, write_out, write_err]
        socket.send_fds(self._channel, [message], theirs)
        for stream in theirs:
            os.close(stream)
        with ThreadPoolExecutor(3) as threads:
            if write_in is not None and given is not None:
                threads.submit(_write, write_in, given)
            out, err = threads.submit(_read, read_out), threads.submit(_read, read_err)
            code = self._code(timeout_s)
        return subprocess.CompletedProcess(list(arguments), code, out.result(), err.result())

    def _code(self, timeout_s: float) -> int:
        process = int(self._channel.recv(LARGEST))
        timer = threading.Timer(timeout_s, os.kill, (process, signal.SIGKILL))
        timer.start()
        try:
            return int(self._channel.recv(LARGEST))
        finally:
            timer.cancel()

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


def _become(arguments: Sequence[str], environ: Mapping[str, str], cwd: str) -> None:
    os.chdir(cwd)
    _look_in(environ.get("PYTHONPATH", ""))
    os.environ.clear()
    os.environ.update(environ)
    sys.argv[1:] = arguments


def _look_in(folders: str) -> None:
    """Look for modules in these folders instead of those that this process was given."""
    given = os.environ.get("PYTHONPATH", "")
    if folders != given:
        sys.path[: len(given.split(os.pathsep))] = folders.split(os.pathsep)


def _serve(channel: socket.socket) -> None:
    """Copy this process for each command; return in the copies alone."""
    while True:
        message, streams, _, _ = socket.recv_fds(channel, LARGEST, 3)
        if not message:
            os._exit(0)
        if not (process := os.fork()):
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            channel.close()
            *arguments, environ, cwd = json.loads(message)
            return _become(arguments, environ, cwd)
        for stream in streams:
            os.close(stream)
        channel.send(str(process).encode())
        status = os.waitpid(process, 0)[1]
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    _import_all()
    with socket.socket(fileno=int(sys.argv[1])) as served:
        _serve(served)
    runpy.run_module("ollm_tui", run_name="__main__", alter_sys=True)
