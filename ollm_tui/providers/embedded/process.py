"""A child process seen from its parent: started, read, watched and ended without ever hanging.

Unlike asyncio's subprocesses, it waits for no pipe of a grandchild, and needs no thread.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from ollm_tui.decode.redact import without_secrets

MAX_LINE_LENGTH = 64 * 1024
LOG_TAIL = 8 * 1024
PIECE = 16 * 1024
POLL_S = 0.02
KILL_WAIT_S = 1.0


class ChildProcess:
    """One running program: `write` to it, `read` from it, `wait` for it, `stop` it.

    Start it on a thread that lives as long as the child may: on Linux a child can request to die
    with the thread that started it.
    """

    def __init__(self, command: Sequence[str]) -> None:
        log_read, log_write = os.pipe()
        os.set_blocking(log_read, False)
        os.set_blocking(log_write, False)  # a full log drops lines; it never stops the child
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_write,
                bufsize=0,
                cwd="/",
                env=without_secrets(os.environ),
                start_new_session=True,
            )
        except OSError:
            os.close(log_read)
            raise
        finally:
            os.close(log_write)
        assert self._popen.stdin is not None
        os.set_blocking(self._popen.stdin.fileno(), False)  # the child may not be reading yet
        self._log: int | None = log_read
        self._tail = b""
        self._pidfd = _open_pidfd(self._popen.pid)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its session."""
        return self._popen.pid

    @property
    def ending(self) -> int | None:
        """The exit code, negative for the signal that killed it, or None while it runs."""
        if self._popen.returncode is not None or not hasattr(os, "waitid"):
            return self._popen.poll()
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return None
        return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status

    def resident_bytes(self) -> int | None:
        """Return the main memory that it and what it started hold, None if unknown; may block.

        Pages of a model's file count from the time that they are read.
        """
        return sum(held for group, held in _held_by_group() if group == self.pid) or None

    async def write(self, data: bytes) -> None:
        """Send all of some bytes; a no-op if the child is gone, or stopped meanwhile."""
        assert self._popen.stdin is not None
        rest = memoryview(data)
        with contextlib.suppress(BrokenPipeError, anyio.ClosedResourceError):
            while rest and not self._popen.stdin.closed:
                await anyio.wait_writable(self._popen.stdin.fileno())
                if self._popen.stdin.closed:  # in the moment in which it was writable
                    return
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._popen.stdin.fileno(), rest[:PIECE]) :]

    async def read(self) -> bytes:
        """Return some bytes that it prints; none once it has ended or was stopped."""
        assert self._popen.stdout is not None
        with contextlib.suppress(anyio.ClosedResourceError):
            if not self._popen.stdout.closed:
                await anyio.wait_readable(self._popen.stdout.fileno())
        if self._popen.stdout.closed:  # perhaps in the moment in which it was readable
            return b""
        return os.read(self._popen.stdout.fileno(), PIECE)

    async def read_line(self) -> bytes:
        """Return the first line it prints, or what there is of it if the child ends before."""
        line = b""
        while not line.endswith(b"\n") and len(line) < MAX_LINE_LENGTH:
            piece = await self.read()
            if not piece:
                break
            line += piece
        return line

    def log_tail(self) -> str:
        """Return the end of its standard error, without waiting."""
        if self._log is not None:
            with contextlib.suppress(BlockingIOError):
                while piece := os.read(self._log, PIECE):
                    self._tail = (self._tail + piece)[-LOG_TAIL:]
        return self._tail.decode(errors="replace")

    async def wait(self) -> int:
        """Wait for its end and return the exit code."""
        while (ending := self.ending) is None:
            if self._pidfd is None:
                await anyio.sleep(POLL_S)
            else:
                await anyio.wait_readable(self._pidfd)
        return ending

    async def stop(self, grace_s: float) -> None:
        """Close its input, give it `grace_s` to leave, then kill its whole session."""
        if not grace_s:
            self._kill_session()  # before it can leave by itself, without what it started
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None and not pipe.closed:
                anyio.notify_closing(pipe.fileno())  # a job may wait for it
                pipe.close()
        if grace_s:
            with anyio.move_on_after(grace_s):
                await self.wait()
        self._kill_session()
        with anyio.move_on_after(KILL_WAIT_S):
            await self.wait()
        self._popen.poll()
        self._close_watches()

    def _kill_session(self) -> None:
        """Kill the child and all that it started, also if it has ended.

        Its id is no other's as long as its end was not collected, which `stop` does last.
        """
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _close_watches(self) -> None:
        self.log_tail()
        if self._log is not None:
            os.close(self._log)
            self._log = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def _open_pidfd(pid: int) -> int | None:
    # Another system, an old kernel, or a sandbox that forbids it.
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


def _held_by_group() -> Iterator[tuple[int, int]]:
    """Give the process group and the resident bytes of each process, as far as they are known."""
    if sys.platform == "linux":
        page = os.sysconf("SC_PAGE_SIZE")
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it may end meanwhile
                # the name of the program, in brackets, may hold spaces and brackets
                fields = stat.read_bytes().rpartition(b")")[2].split()
                yield int(fields[2]), int(fields[21]) * page
    elif sys.platform != "win32":
        command = ["ps", "-axo", "pgid=,rss="]
        with contextlib.suppress(OSError):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                group, kilobytes = line.split()
                yield int(group), int(kilobytes) * 1024
