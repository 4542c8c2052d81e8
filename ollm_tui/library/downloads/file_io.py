"""The disk of one transfer: one thread at a time, free space checked, errors put into words."""

import errno
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter, to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.library.downloads.part_file import Write
from ollm_tui.protocol.errors import AIError, ErrorCode

FreeBytes: TypeAlias = Callable[[Path], int]
_RESERVE_PERCENT: Final = 5
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


def free_bytes(folder: Path) -> int:
    """Return how many bytes this user can still write to a folder; blocks.

    Raises:
        OSError: the folder does not tell.
    """
    return shutil.disk_usage(folder).free


def disk_full_error(folder: Path, needed: int | None, free: int | None) -> AIError:
    """Return the error for a full disk; unknown sizes are None."""
    if needed is not None and free is not None and free >= needed:
        message = f"{folder} takes no more of it, although {size_text(free)} are free."
        remedy = "look for a quota, or a limit on the size of a file, then resume."
    else:
        sizes = (("needed", needed), ("free", free))
        known = [f"{size_text(size)} are {word}" for word, size in sizes if size is not None]
        colon = ": " if known else ""
        message = f"There is no space left in {folder}{colon}{', '.join(known)}."
        remedy = "free some space, then resume."
    return AIError(
        ErrorCode.INTERNAL_ERROR,
        message,
        hint=f"What arrived is kept: {remedy}",
        details={"fault": "disk_full", "path": str(folder), "needed": needed, "free": free},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The parts of the machine that a transfer uses; tests replace them."""

    free_bytes: FreeBytes = free_bytes
    write: Write = os.pwrite
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits that many seconds before the next attempt."""


@asynccontextmanager
async def closed_in_thread() -> AsyncIterator[ExitStack]:
    """Yield a stack of resources that is closed in a thread, even when cancelled."""
    resources = ExitStack()
    try:
        yield resources
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(resources.close)


@dataclass(slots=True, eq=False)
class FileIO:
    """The disk as one target file needs it."""

    target: Path
    environment: Environment
    remaining: int | None = field(default=None, init=False)
    """Bytes still to be written, for the error on a full disk."""
    limiter: CapacityLimiter = field(default_factory=partial(CapacityLimiter, 1), init=False)

    async def run(self, work: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
        """Call `work` in a thread, and wait for it even when cancelled.

        Raises:
            AIError: for any OSError.
        """
        try:
            return await to_thread.run_sync(work, *arguments, limiter=self.limiter)
        except OSError as error:
            raise await self._translated(error) from error

    async def require_space(self, missing: int) -> None:
        """Require room for `missing` bytes and a reserve for other programs.

        Raises:
            AIError: INTERNAL_ERROR with the bytes needed and free.
        """
        folder = self.target.parent
        needed = missing + missing * _RESERVE_PERCENT // 100
        free = await self.run(self.environment.free_bytes, folder)
        if free < needed:
            raise disk_full_error(folder, needed, free)

    async def _translated(self, error: OSError) -> AIError:
        name, folder = clean_name(self.target.name), self.target.parent
        if error.errno in _FULL:
            return disk_full_error(folder, self.remaining, await self._free())
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
                self.environment.free_bytes, self.target.parent, limiter=self.limiter
            )
        except OSError:
            return None
