"""How many processors and how much memory an engine may use: the machine's or its container's."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from ollm_tui.config.regular_file import open_binary

READ_LIMIT: Final = 4096
ROOT: Final = Path("/")
MOST_CACHE_MB: Final = 8192
"""What llama.cpp's server keeps of earlier prompts by default."""
CACHE_SHARE: Final = 4


def usable_cores(root: Path = ROOT) -> int:
    """Return the processors that this process may keep busy, at least one."""
    cores = [os.cpu_count() or 2]
    if hasattr(os, "sched_getaffinity"):
        cores.append(len(os.sched_getaffinity(0)))
    for group in _groups(root, "cpu"):
        words = _words(group / "cpu.max")
        if not words:  # the first version of control groups
            words = _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
        match words:
            case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
                cores.append(round(int(quota) / int(period)))
    return max(1, min(cores))


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
    return MOST_CACHE_MB if total is None else min(MOST_CACHE_MB, total // CACHE_SHARE >> 20)


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
