"""A model file, or a folder of them, copied from elsewhere on this machine."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.to_thread

from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.cleanup import remove_whole
from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.fetched_model import AddressOf, is_gguf, name_of, problem_of
from ollm_tui.library.downloads.file_copy import FileCopy
from ollm_tui.library.downloads.file_io import Environment, FileIO
from ollm_tui.library.downloads.job import LocalFiles
from ollm_tui.library.downloads.local_files import chosen_files
from ollm_tui.library.downloads.part_file import sole_part
from ollm_tui.library.downloads.safe_paths import checked_path
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.protocol.errors import AIError, ErrorCode


class LocalCopy:
    """Work for `LocalFiles`."""

    parting = ""

    def __init__(
        self,
        origin: LocalFiles,
        root: Path,
        address_of: AddressOf,
        around: Environment | None = None,
    ) -> None:
        self._origin = origin
        self._root = root
        self._address_of = address_of
        self._around = around or Environment()

    async def title(self) -> str:
        """Give the name of the file or folder.

        Raises:
            AIError: there is no model file, it is none inside, or its name is refused.
        """
        await anyio.to_thread.run_sync(self._checked)
        return self._origin.path.name

    async def run(self, report: Report) -> str | None:
        """Copy what is not there yet, a slice at a time."""
        copies = await anyio.to_thread.run_sync(self._checked)
        total = sum(copy.size for copy in copies)
        before = 0
        report(Progress(completed=0, total=total))
        for copy in copies:
            await self._copy(copy, report, before, total)
            before += copy.size
        await anyio.to_thread.run_sync(self._finish, copies)
        models = {name_of(copy.target) for copy in copies if is_gguf(copy.target)}
        return await self._address_of(copies[0].target) if len(models) == 1 else None

    async def _copy(self, copy: FileCopy, report: Report, before: int, total: int) -> None:
        disk = FileIO(copy.target, self._around)
        if await disk.run(copy.is_there):
            return
        held = ExitStack()
        try:
            await disk.run(held.enter_context, sole_part(copy.target))
            if not await disk.run(copy.is_there):  # nobody was faster
                await self._write(copy, disk, report, before, total)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(held.close)

    async def _write(
        self, copy: FileCopy, disk: FileIO, report: Report, before: int, total: int
    ) -> None:
        done = await disk.run(copy.begin)
        disk.missing = copy.size - done
        await disk.need(copy.size - done)
        report(Progress(completed=before + done, total=total, has_leapt=True))
        while done < copy.size:
            done = await disk.run(copy.copy_slice, done)
            report(Progress(completed=before + done, total=total))
        await disk.run(copy.put)

    async def discard(self) -> None:
        """Remove the copies."""
        await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        try:
            copies = list(self._copies())
        except (AIError, OSError):
            return  # the files are gone; what was copied of them cannot be told from other files
        for copy in copies:
            copy.part.unlink(missing_ok=True)
        made = [copy.target for copy in copies if _is_copy(copy)]
        remove_whole(made, made, self._root)

    def _checked(self) -> list[FileCopy]:
        copies = list(self._copies())
        for copy in copies:
            problem = problem_of(copy.source)
            if problem is not None:
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"{clean_name(copy.source.name)} is not a usable GGUF file: {problem}.",
                )
        return copies

    def _copies(self) -> Iterable[FileCopy]:
        for source, path in chosen_files(self._origin.path, self._root):
            status = source.stat()
            target = checked_path(self._root, path)
            yield FileCopy(source, target, status.st_size, status.st_mtime_ns)

    def _finish(self, copies: list[FileCopy]) -> None:
        said = Provenance(
            place=str(self._origin.path),
            files=tuple(copy.target.name for copy in copies),
            fetched_at=time.time(),
        )
        write_provenance(copies[0].target, said)


def _is_copy(copy: FileCopy) -> bool:
    try:
        return copy.is_there()
    except OSError:
        return False
