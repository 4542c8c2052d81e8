"""The disk of one transfer: one thread at a time works at it; its failures are told in words."""

import errno
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter, to_thread

from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.part_file import Write
from ollm_tui.library.downloads.space import FreeBytes, free_bytes, full, need_space
from ollm_tui.protocol.errors import AIError, ErrorCode

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
