"""A model file, or a folder of them, copied from elsewhere on this machine.

Each file is copied in slices that are synced one by one, and renamed in one step. Until then the
copy has a name of its own, made from the target's name and the source's size and time: a later run
resumes it, or starts over when the source has changed.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import anyio.to_thread

from ollm_tui.config.paths import expanded
from ollm_tui.config.regular_file import (
    is_file,
    is_folder,
    open_binary,
    open_regular,
    real_path,
    why_unreadable,
)
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.downloader import AddressOf, Progress, Report
from ollm_tui.library.downloads.file_io import Environment, FileIO, closed_in_thread
from ollm_tui.library.downloads.job import LocalFiles
from ollm_tui.library.downloads.part_file import SLICE_BYTES, exclusive_part
from ollm_tui.library.downloads.safe_paths import checked_path
from ollm_tui.library.downloads.transfer import remove_whole
from ollm_tui.library.file_names import is_gguf, model_name, part_stem, shard_of
from ollm_tui.library.gguf import gguf_problem
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_FILES: Final = 1000
MAX_DEPTH: Final = 4


def source_files(chosen: Path, root: Path) -> list[tuple[Path, str]]:
    """Return the files, and the path below the library that each gets, written with `/`.

    A folder means the GGUF files in it; a part of a split model means all its parts. Blocks.

    Raises:
        AIError: there are none or too many, or they are in the library already.
    """
    if real_path(expanded(chosen)).is_relative_to(real_path(root)):
        raise AIError(ErrorCode.CONFLICT, f"{clean_name(chosen.name)} is already in the library.")
    return given_files(chosen)


def given_files(chosen: Path) -> list[tuple[Path, str]]:
    """Return the files as `source_files` does, also those of the library. Blocks.

    Raises:
        AIError: there are none or too many.
    """
    path = expanded(chosen)
    if is_folder(path):
        pairs = [(file, f"{real_path(path).name}/{inner}") for file, inner in _below(path, "", 0)]
    elif is_file(path):
        pairs = [(file, file.name) for file in _with_parts(path)]
    else:
        raise AIError(ErrorCode.BAD_REQUEST, _why_no_file(path))
    if not pairs:
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no GGUF file in {clean_name(str(chosen))}.")
    if len(pairs) > MAX_FILES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"There are more than {MAX_FILES} model files in {clean_name(str(chosen))}.",
            hint="Add it to model_folders below [embedded] instead: then nothing is copied.",
        )
    return pairs


def _why_no_file(path: Path) -> str:
    try:
        path.stat()
    except FileNotFoundError:
        return f"There is no file {clean_name(str(path))}."
    except (OSError, ValueError) as error:
        return f"{clean_name(str(path))} cannot be read: {why_unreadable(error)}."
    return f"{clean_name(str(path))} is not a file but a pipe, socket or device."


def _below(folder: Path, inner: str, depth: int) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        message = f"{clean_name(str(folder))} cannot be read: {why_unreadable(error)}."
        raise AIError(ErrorCode.BAD_REQUEST, message) from error
    for entry in entries:
        if is_folder(entry) and not entry.is_symlink() and depth < MAX_DEPTH:
            yield from _below(entry, f"{inner}{entry.name}/", depth + 1)
        elif is_gguf(entry) and is_file(entry):
            yield entry, f"{inner}{entry.name}"


def _with_parts(file: Path) -> list[Path]:
    shard = shard_of(file.stem) if is_gguf(file) else None
    if shard is None:
        return [file]
    parts = [
        file.with_name(part_stem(shard, number) + file.suffix)
        for number in range(1, min(shard.count, MAX_FILES + 1) + 1)
    ]
    for part in parts:
        if not is_file(part):
            raise AIError(ErrorCode.BAD_REQUEST, f"{clean_name(part.name)} is missing.")
    return parts


@dataclass(frozen=True, slots=True)
class FileCopy:
    """The copy of one file; every method blocks."""

    source: Path
    target: Path
    size: int
    modified_ns: int

    @property
    def part(self) -> Path:
        """The path of the copy until it is complete."""
        return self.target.with_name(f"{self._parts}{self.size:x}-{self.modified_ns:x}.part")

    @property
    def _parts(self) -> str:
        """The prefix of part names, for any state of the source; of fixed length."""
        name = self.target.name.encode("utf-8", "surrogatepass")
        return f".copy-{hashlib.sha256(name).hexdigest()[:16]}-"

    def is_there(self) -> bool:
        """Whether an earlier run has made this copy.

        Raises:
            FileExistsError: another file is there.
        """
        try:
            status = self.target.stat()
        except FileNotFoundError:
            return False
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            raise FileExistsError("another file is there")
        return True

    def begin(self) -> int:
        """Return the bytes copied earlier, in whole slices; outdated parts are deleted."""
        for left in self.target.parent.glob(f"{self._parts}*.part"):
            if left != self.part:
                left.unlink(missing_ok=True)
        descriptor = open_regular(self.part, os.O_WRONLY | os.O_CREAT, follows_links=False)
        try:
            done = min(os.fstat(descriptor).st_size, self.size) // SLICE_BYTES * SLICE_BYTES
            os.ftruncate(descriptor, done)
        finally:
            os.close(descriptor)
        return done

    def copy_slice(self, done: int) -> int:
        """Copy one slice after `done` bytes, and return the new total.

        Raises:
            OSError: it cannot be read or written, or the source became shorter.
        """
        with ExitStack() as files:
            source = files.enter_context(open_binary(self.source))
            part = open_regular(self.part, os.O_RDWR, follows_links=False)
            files.callback(os.close, part)
            piece = os.pread(source.fileno(), min(SLICE_BYTES, self.size - done), done)
            if not piece:
                raise OSError(f"{clean_name(self.source.name)} became shorter while it was copied")
            offset, left = done, memoryview(piece)
            while left:
                written = os.pwrite(part, left, offset)
                offset, left = offset + written, left[written:]
            os.fsync(part)
        return done + len(piece)

    def publish(self) -> None:
        """Rename the complete copy to its target.

        Raises:
            FileExistsError: another file has taken the name in the meantime.
            OSError: the source has changed in the meantime.
        """
        status = self.source.stat()
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            self.part.unlink(missing_ok=True)
            raise OSError(f"{clean_name(self.source.name)} changed while it was copied")
        if os.path.lexists(self.target):
            raise FileExistsError("another file of that name has been put there")
        os.utime(self.part, ns=(self.modified_ns, self.modified_ns))
        self.part.replace(self.target)


@dataclass(frozen=True, slots=True)
class LocalCopy:
    """Copies `LocalFiles`."""

    origin: LocalFiles
    root: Path
    address_of: AddressOf
    environment: Environment = field(default_factory=Environment)
    pause_note = ""

    async def title(self) -> str:
        """Return the name of the file or folder."""
        await anyio.to_thread.run_sync(self._checked)
        return self.origin.path.name

    async def run(self, report: Report) -> str | None:
        """Copy what is missing, a slice at a time."""
        copies = await anyio.to_thread.run_sync(self._checked)
        total = sum(copy.size for copy in copies)
        before = 0
        report(Progress(completed=0, total=total))
        for copy in copies:
            await self._copy(copy, report, before, total)
            before += copy.size
        place, names = str(self.origin.path), tuple(copy.target.name for copy in copies)
        provenance = Provenance(place=place, files=names, fetched_at=time.time())
        await anyio.to_thread.run_sync(write_provenance, copies[0].target, provenance)
        models = {model_name(copy.target) for copy in copies if is_gguf(copy.target)}
        return await self.address_of(copies[0].target) if len(models) == 1 else None

    async def _copy(self, copy: FileCopy, report: Report, before: int, total: int) -> None:
        disk = FileIO(copy.target, self.environment)
        if await disk.run(copy.is_there):
            return
        async with closed_in_thread() as resources:
            await disk.run(resources.enter_context, exclusive_part(copy.target))
            if not await disk.run(copy.is_there):  # no other program was faster
                await self._write(copy, disk, report, before, total)

    async def _write(
        self, copy: FileCopy, disk: FileIO, report: Report, before: int, total: int
    ) -> None:
        done = await disk.run(copy.begin)
        disk.remaining = copy.size - done
        await disk.require_space(copy.size - done)
        report(Progress(completed=before + done, total=total, is_jump=True))
        while done < copy.size:
            done = await disk.run(copy.copy_slice, done)
            report(Progress(completed=before + done, total=total))
        await disk.run(copy.publish)

    async def discard(self) -> None:
        """Delete the copies."""
        await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        try:
            copies = list(self._copies())
        except (AIError, OSError):
            return  # without the sources, their copies cannot be distinguished from other files
        made = []
        for copy in copies:
            copy.part.unlink(missing_ok=True)
            with suppress(OSError):
                made += [copy.target] if copy.is_there() else []
        remove_whole(made, made, self.root)

    def _checked(self) -> list[FileCopy]:
        copies = list(self._copies())
        for copy in copies:
            problem = gguf_problem(copy.source)
            if problem is not None:
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"{clean_name(copy.source.name)} is not a usable GGUF file: {problem}.",
                )
        return copies

    def _copies(self) -> Iterable[FileCopy]:
        for source, path in source_files(self.origin.path, self.root):
            status = source.stat()
            target = checked_path(self.root, path)
            yield FileCopy(source, target, status.st_size, status.st_mtime_ns)
