"""The memory of a Linux machine, including container limits, and its AMD graphics cards."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ollm_tui.config.regular_file import open_binary
from ollm_tui.library.machine import Gpu

READ_LIMIT = 64 * 1024
CARD_LIMIT = 64
NO_LIMIT = 2**60
"""Version 1 of control groups reports a value near 2**63 for no limit."""


def linux_memory(root: Path) -> tuple[int | None, int | None]:
    """Return total and free bytes: of the machine, or of its container if that is less."""
    meminfo = _table(root / "proc/meminfo")
    total, free = meminfo.get("MemTotal"), meminfo.get("MemAvailable")
    total, free = total and total * 1024, None if free is None else free * 1024
    for limit, used in _limits(root):
        total = limit if total is None else min(total, limit)
        if used is not None:
            left = max(0, limit - used)
            free = left if free is None else min(free, left)
        elif free is not None:
            free = min(free, limit)
    return total, free


def amd_gpus(root: Path) -> tuple[Gpu, ...]:
    """Return AMD cards that have memory of their own; integrated ones do not count."""
    try:
        folders = sorted((root / "sys/class/drm").glob("card[0-9]*/device"))[:CARD_LIMIT]
    except OSError:
        return ()
    cards = []
    for folder in folders:
        total = _number(folder / "mem_info_vram_total")
        if not total or not _is_discrete(folder):
            continue
        used = _number(folder / "mem_info_vram_used")
        free = None if used is None else max(0, total - used)
        cards.append(Gpu(name=_name(folder), total=total, free=free))
    return tuple(cards)


def _is_discrete(folder: Path) -> bool:
    """Whether this is a discrete card: only of those the driver reports the memory's load.

    For Vega 10 it does not, but names the vendor of the memory.
    """
    vendor = (_text(folder / "mem_info_vram_vendor") or "unknown").strip()
    return _text(folder / "mem_busy_percent") is not None or vendor != "unknown"


def _name(folder: Path) -> str:
    name = (_text(folder / "product_name") or "").strip()
    return name.splitlines()[0][:80] if name else "AMD GPU"


def _limits(root: Path) -> Iterator[tuple[int, int | None]]:
    """Yield limit and usage of every control group that this process is in."""
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            yield from _groups(root / "sys/fs/cgroup", path, "memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            yield from _groups(
                root / "sys/fs/cgroup/memory",
                path,
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_",
            )


def _groups(
    top: Path, path: str, limit_file: str, use_file: str, prefix: str
) -> Iterator[tuple[int, int | None]]:
    """Yield limit and usage from the top group down; a container sees its own group at the top."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for depth in range(len(parts) + 1):
        folder = top.joinpath(*parts[:depth])
        limit = _number(folder / limit_file)
        if limit is None or limit >= NO_LIMIT:
            continue
        used = _number(folder / use_file)
        if used is not None:  # cached file pages can be dropped at any time
            used -= _table(folder / "memory.stat").get(f"{prefix}inactive_file", 0)
        yield limit, used if used is None else max(0, used)


def _table(path: Path) -> dict[str, int]:
    """Parse lines like `MemFree:  123 kB` and `inactive_file 123`."""
    table = {}
    for line in (_text(path) or "").splitlines():
        name, *values = line.replace(":", " ").split() or [""]
        if values and _is_number(values[0]):
            table[name] = int(values[0])
    return table


def _number(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _text(path: Path) -> str | None:
    try:
        with open_binary(path) as file:
            return file.read(READ_LIMIT).decode(errors="replace")
    except (OSError, ValueError):
        return None
