"""Whether a file fits on the disk, and what is said when it does not."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode

FreeBytes: TypeAlias = Callable[[Path], int]
_RESERVE_PERCENT: Final = 5
_UNITS: Final = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def free_bytes(folder: Path) -> int:
    """Give what the owner of this program may still write there; touches the disk.

    Raises:
        OSError: the folder cannot be asked.
    """
    return shutil.disk_usage(folder).free


def need_space(folder: Path, missing: int, free: int) -> None:
    """Refuse to begin what cannot be ended: `missing` bytes, and a little for all others.

    Raises:
        AIError: INTERNAL_ERROR with what is needed and what is free.
    """
    needed = missing + missing * _RESERVE_PERCENT // 100
    if free < needed:
        raise full(folder, needed, free)


def full(folder: Path, needed: int | None, free: int | None) -> AIError:
    """Say that a disk is full; what is not known is None."""
    if needed is not None and free is not None and free >= needed:
        return AIError(
            ErrorCode.INTERNAL_ERROR,
            f"{folder} takes no more of it, although {in_units(free)} are free.",
            hint="What arrived is kept: look for a quota, or a limit on the size of a file, "
            "then resume.",
            details={"fault": "disk_full", "path": str(folder), "needed": needed, "free": free},
        )
    known = [
        f"{in_units(size)} are {word}"
        for size, word in ((needed, "needed"), (free, "free"))
        if size is not None
    ]
    return AIError(
        ErrorCode.INTERNAL_ERROR,
        ": ".join(
            part for part in (f"There is no space left in {folder}", ", ".join(known)) if part
        )
        + ".",
        hint="What arrived is kept: free some space, then resume.",
        details={"fault": "disk_full", "path": str(folder), "needed": needed, "free": free},
    )


def in_units(size: int) -> str:
    """Write bytes as a person reads them: `1.9 GB`."""
    for unit, factor in _UNITS:
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return counted(size, "byte")
