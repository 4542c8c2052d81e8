"""How many processors and how much memory an engine may use: the machine's or its container's."""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from ollm_tui.config.regular_file import open_binary

READ_LIMIT: Final = 4096
ROOT: Final = Path("/")
MAX_CACHE_MB: Final = 8192
"""What llama.cpp's server keeps of earlier prompts by default."""
CACHE_SHARE: Final = 4
MIN_CAPACITY: Final = 0.6
"""Of the fastest core's: a slower one is there to save energy."""
MAX_PROCESSORS: Final = 1 << 16


def usable_cores(root: Path = ROOT) -> int:
    """Return the processors that this process may keep busy, at least one."""
    cores = [os.cpu_count() or 2]
    if (allowed := _allowed()) is not None:
        cores.append(len(allowed))
    for group in _groups(root, "cpu"):
        words = _words(group / "cpu.max")
        if not words:  # the first version of control groups
            words = _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
        match words:
            case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
                cores.append(round(int(quota) / int(period)))
    return max(1, min(cores))


def cores_in_step(root: Path = ROOT) -> int:
    """Return how many threads that wait for each other may work at once, at least one.

    One for each physical core, without efficiency cores, and one processor is left for all else:
    what takes one of them makes all wait. Where the system does not say which processors share a
    core, as only Linux does, each two are taken to share one.
    """
    usable = usable_cores(root)
    physical = _physical_cores(root) or usable // 2
    return max(1, min(physical, usable - 1))


class Processors:
    """How many processors an engine may use, looked up once, when that is first asked."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root

    @cached_property
    def usable(self) -> int:
        """See `usable_cores`."""
        return usable_cores(self._root)

    @cached_property
    def in_step(self) -> int:
        """See `cores_in_step`."""
        return cores_in_step(self._root)


def total_memory(root: Path = ROOT) -> int | None:
    """Return the bytes of memory that this machine or its container has; None if not known."""
    sizes = []
    match _words(root / "proc/meminfo"):
        case ["MemTotal:", kilobytes, *_] if kilobytes.isdigit():
            sizes.append(int(kilobytes) * 1024)
    for group in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            match _words(group / name):
                case [limit] if limit.isdigit():
                    sizes.append(int(limit))
    return min(sizes, default=_physical_memory())


def prompt_cache_mb(root: Path = ROOT) -> int:
    """Return how much memory the prompts of other chats may take: at most a quarter of all."""
    total = total_memory(root)
    return MAX_CACHE_MB if total is None else min(MAX_CACHE_MB, total // CACHE_SHARE >> 20)


def _allowed() -> set[int] | None:
    """Return the numbers of the processors that this process may run on; None if unknown."""
    return set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _physical_cores(root: Path) -> int | None:
    """Return the fast cores that have a processor of this process; None if they are not known."""
    allowed, system = _allowed(), root / "sys/devices/system/cpu"
    if allowed is None:
        return None
    capacities = {number: _number(system / f"cpu{number}/cpu_capacity") for number in allowed}
    enough = max(capacities.values()) * MIN_CAPACITY
    fast = {number for number in allowed if capacities[number] >= enough}
    fast = fast & _processors(root / "sys/devices/cpu_core/cpus") or fast
    siblings = {_siblings(system / f"cpu{number}/topology") for number in fast}
    return None if "" in siblings else len(siblings)


def _siblings(topology: Path) -> str:
    """Return which processors share the core of one, and nothing if that is not known."""
    # the second is what kernels before 5.3 call it
    return _text(topology / "core_cpus_list") or _text(topology / "thread_siblings_list")


def _processors(path: Path) -> set[int]:
    """Return the numbers of a list as the kernel writes it, such as `0-3,8`."""
    numbers: set[int] = set()
    for part in _text(path).strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            numbers |= {*range(int(first), min(int(last or first), MAX_PROCESSORS) + 1)}
    return numbers


def _number(path: Path) -> int:
    match _words(path):
        case [number] if number.isdigit():
            return int(number)
    return 0


def _physical_memory() -> int | None:
    """Return what the system says without `/proc`."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no such call
        return None


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups of this process, from the top down.

    A container sees its own group at the top.
    """
    top = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        folder = top if not controllers else top / controllers
        yield folder
        for part in PurePosixPath(path).parts:
            if part not in ("/", ".."):
                folder /= part
                yield folder


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    try:
        with open_binary(path) as file:
            return file.read(READ_LIMIT).decode(errors="replace")
    except OSError:
        return ""
