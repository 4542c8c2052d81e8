"""The disk of one transfer: one thread at a time, free space checked, errors put into words."""

import errno
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter, to_thread

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.library.downloads.part_file import Write
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


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a transfer takes from the machine; tests give their own."""

    free_bytes: FreeBytes = free_bytes
    write: Write = os.pwrite
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits so many seconds before the next try."""


class FileIO:
    """Where one file goes."""

    def __init__(self, target: Path, around: Environment) -> None:
        self.target = target
        self._around = around
        self._limiter = CapacityLimiter(1)
        self.missing: int | None = None
        """Bytes that have still to come, for the message on a full disk."""

    async def run(self, work: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
        """Do something in a thread that is never left alone.

        Raises:
            AIError: for whatever the operating system refuses.
        """
        try:
            return await to_thread.run_sync(work, *arguments, limiter=self._limiter)
        except OSError as error:
            raise await self._in_words(error) from error

    async def need(self, missing: int) -> None:
        """Look whether so many bytes fit.

        Raises:
            AIError: they do not.
        """
        folder = self.target.parent
        need_space(folder, missing, await self.run(self._around.free_bytes, folder))

    async def pause(self, seconds: float) -> None:
        """Wait before the next try."""
        await self._around.sleep(seconds)

    async def _in_words(self, error: OSError) -> AIError:
        name, folder = clean_name(self.target.name), self.target.parent
        if error.errno in _FULL:
            return full(folder, self.missing, await self._free())
        match error:
            case FileExistsError():
                return AIError(
                    ErrorCode.CONFLICT,
                    f"Another file is at {self.target} already.",
                    hint="It was left as it is: rename or delete it to download this one.",
                )
            case FileNotFoundError():
                return AIError(
                    ErrorCode.CONFLICT,
                    f"What arrived of {name} was removed or replaced in the meantime.",
                    hint="Start it again.",
                )
            case _:
                return AIError(
                    ErrorCode.INTERNAL_ERROR,
                    f"{name} cannot be stored in {folder}: {error.strerror or error}.",
                    hint="Check the permissions of that folder, or choose another one.",
                    details={"fault": "disk", "path": str(folder)},
                )

    async def _free(self) -> int | None:
        try:
            return await to_thread.run_sync(
                self._around.free_bytes, self.target.parent, limiter=self._limiter
            )
        except OSError:
            return None
