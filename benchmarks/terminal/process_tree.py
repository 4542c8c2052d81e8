"""The resources of a program and its descendants, read from /proc."""

import os
import re
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_RESIDENT = re.compile(rb"VmRSS:\s+(\d+)")
_PROPORTIONAL = re.compile(rb"\bPss:\s+(\d+)")
_PEAK = re.compile(rb"VmHWM:\s+(\d+)")


class ProcessTree:
    """Every process that inherited a mark in its environment, under any parent."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self._known: set[int] = set()

    def pids(self) -> list[int]:
        """Return the living ones."""
        numbers = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
        for pid in numbers - self._known:
            if self._mark in _read(Path(f"/proc/{pid}/environ")):
                self._known.add(pid)
        self._known = {pid for pid in self._known if _is_alive(pid)}
        return sorted(self._known)

    def cpu_s(self) -> float:
        """Return the processor time so far, that of ended children included."""
        return sum(cpu_of(pid) for pid in self.pids())

    def memory_mb(self) -> tuple[float, float]:
        """Return the resident memory, now and at its most, in MB."""
        now = peak = 0
        for pid in self.pids():
            status = _read(Path(f"/proc/{pid}/status"))
            now += _number(_RESIDENT, status)
            peak += _number(_PEAK, status)
        return now / 1024, peak / 1024

    def shared_once_mb(self) -> float:
        """Return the memory of all where each has its part of what they share, in MB."""
        kilobytes = 0
        for pid in self.pids():
            kilobytes += _number(_PROPORTIONAL, _read(Path(f"/proc/{pid}/smaps_rollup")))
        return kilobytes / 1024


def cpu_of(pid: int) -> float:
    try:
        own = time.clock_gettime((~pid << 3) | 2)  # the processor clock of another process
    except OSError:
        return 0.0
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return own + sum(int(field) for field in fields[13:15]) / _TICKS


def _is_alive(pid: int) -> bool:
    state = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return bool(state) and state[0] != b"Z"


def _number(pattern: re.Pattern[bytes], text: bytes) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
