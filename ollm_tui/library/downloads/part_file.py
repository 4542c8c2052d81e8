"""A partly downloaded file: its bytes, their checksum, and the state recorded beside them.

The order of writes keeps it consistent whenever the program or the machine stops: bytes are synced
first, then the state is written; bytes behind the state's offset are discarded. At the end the file
is synced, renamed in one step, and the state is removed.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import is_named, open_lock, sync_folder, try_lock, write_private
from ollm_tui.config.regular_file import open_regular, read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.json_fields import integer, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject

VERSION: Final = 1
MAX_STATE_BYTES: Final = 64 * 1024
SLICE_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024
Write: TypeAlias = Callable[[int, memoryview, int], int]
"""Like `os.pwrite`: descriptor, data, offset."""
MAX_UNSYNCED_BYTES: Final = 6 * 1024 * 1024
MIN_UNSYNCED_BYTES: Final = 16 * 1024
UNSYNCED_SHARE: Final = 40
"""A kill loses at most one in so many bytes of a file, within the two bounds above."""
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """The record of a partly downloaded file: enough to resume it, and no secret."""

    url: str
    """Without name, password and query."""
    etag: str | None = None
    """A strong ETag; None if the server sent none."""
    size: int | None = None
    sha256: str | None = None
    done: int = 0
    """Bytes that are synced to the disk; the rest is discarded."""


def load_state(path: Path) -> PartState | None:
    """Read a state from disk; None if there is none that can be trusted."""
    try:
        fields = json.loads(read_bounded(path, MAX_STATE_BYTES, follows_links=False))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("version") != VERSION:
        return None
    url, done, size = string(fields, "url"), _count(fields, "done"), _count(fields, "size")
    if url is None or done is None or (size is not None and done > size):
        return None
    etag, sha256 = string(fields, "etag"), string(fields, "sha256")
    return PartState(url=url, etag=etag, size=size, sha256=sha256, done=done)


def _count(fields: JsonObject, key: str) -> int | None:
    count = integer(fields, key)
    return count if count is not None and count >= 0 else None


def save_state(path: Path, state: PartState) -> None:
    """Write a state in one step: the file holds the old or the new one, never a part of either.

    Raises:
        OSError: it cannot be written; the old state is still there.
    """
    data = json.dumps({"version": VERSION} | asdict(state)).encode()
    # A kill leaves the new file under a known name, which is removed with the rest.
    write_private(path, data, by_way_of=path.with_name(path.name + ".new"), lasting=False)


class RunningHash:
    """The SHA-256 of the first `covered` bytes of a file that is being written."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.covered = 0

    def update(self, data: bytes, at: int) -> None:
        """Hash bytes written at `at`; ignored unless all bytes before them are covered."""
        if at == self.covered:
            self._hash.update(data)
            self.covered += len(data)

    def truncate(self, length: int) -> None:
        """Follow a truncation of the file; if covered bytes are gone, hashing starts over."""
        if length < self.covered:
            self._hash, self.covered = hashlib.sha256(), 0

    def catch_up(self, descriptor: int, length: int) -> bool:
        """Read up to SLICE_BYTES that are not covered; return whether `length` bytes are covered.

        Raises:
            OSError: the file cannot be read, or is shorter.
        """
        end = min(length, self.covered + SLICE_BYTES)
        while self.covered < end:
            piece = os.pread(descriptor, min(_PIECE_BYTES, end - self.covered), self.covered)
            if not piece:
                raise OSError("the file has become shorter")
            self.update(piece, self.covered)
        return self.covered >= length

    def hexdigest(self) -> str:
        """Return the digest of the covered bytes."""
        return self._hash.hexdigest()


class PartFile:
    """The partial file of one target, while this program is its only writer; every call blocks."""

    def __init__(self, target: Path, descriptor: int, write: Write) -> None:
        self._target = target
        self._descriptor = descriptor
        self._write = write
        self._synced = 0
        self.written = 0
        """The offset of the next byte."""
        self.hash = RunningHash()
        self.state = self._trusted()
        if self.state is not None:
            self.written = self._synced = self.state.done

    def begin(self, state: PartState, start: int) -> None:
        """Continue with a body that begins at `start`; what follows it in the file is discarded."""
        os.ftruncate(self._descriptor, start)
        self.hash.truncate(start)
        self.written, self._synced = start, min(self._synced, start)
        self._save(state)

    def write(self, pieces: Sequence[bytes]) -> None:
        """Write pieces, and sync the file whenever enough is unsynced."""
        for piece in pieces:
            left, offset = memoryview(piece), self.written
            while left:
                count = self._write(self._descriptor, left, offset)
                left, offset = left[count:], offset + count
            self.hash.update(piece, self.written)
            self.written = offset
        if self.written - self._synced >= self.max_unsynced_bytes():
            self.sync()

    def sync(self) -> None:
        """Sync everything written so far and record it."""
        if self.state is None or self.written == self._synced:
            return
        os.fsync(self._descriptor)
        self._check_name()
        self._synced = self.written
        self._save(self.state)

    def hash_more(self) -> bool:
        """Read a slice for the checksum; return whether it covers the whole file."""
        return self.hash.catch_up(self._descriptor, self.written)

    def publish(self, *, keeps_record: bool = False) -> None:
        """Rename the file to its target; `keeps_record` keeps the state for `matches_record`.

        Raises:
            FileExistsError: another file has taken the name in the meantime.
        """
        os.fsync(self._descriptor)
        self._check_name()
        if os.path.lexists(self._target):
            raise FileExistsError("another file of that name has been put there")
        if keeps_record and self.state is not None:
            self._synced = self.written
            self._save(replace(self.state, size=self.written))
        part_path(self._target).replace(self._target)
        sync_folder(self._target.parent)
        if not keeps_record:
            remove_record(self._target)

    def close(self) -> None:
        """Close the file; an empty one is deleted."""
        try:
            if os.fstat(self._descriptor).st_size == 0:
                with suppress(OSError):
                    self._check_name()
                    remove_leftovers(self._target, has_record=matches_record(self._target))
        finally:
            os.close(self._descriptor)

    def _trusted(self) -> PartState | None:
        state = load_state(state_path(self._target))
        is_there = state is not None and os.fstat(self._descriptor).st_size >= state.done
        return state if is_there else None

    def max_unsynced_bytes(self) -> int:
        """Return how many bytes may be written before they are synced."""
        size = self.state.size if self.state is not None else None
        known = self.written if size is None else size
        return max(MIN_UNSYNCED_BYTES, min(MAX_UNSYNCED_BYTES, known // UNSYNCED_SHARE))

    def _save(self, state: PartState) -> None:
        self.state = replace(state, done=self._synced)
        save_state(state_path(self._target), self.state)

    def _check_name(self) -> None:
        named = part_path(self._target).lstat()
        if not os.path.samestat(named, os.fstat(self._descriptor)):
            raise FileNotFoundError("it was replaced while it was being downloaded")


def part_path(target: Path) -> Path:
    """Return where the bytes of a file lie while it is downloaded."""
    return target.with_name(target.name + ".part")


def state_path(target: Path) -> Path:
    """Return where the state of a partial file is recorded."""
    return target.with_name(target.name + ".part.json")


@contextmanager
def exclusive_part(target: Path) -> Iterator[None]:
    """Be the only writer of the partial file of `target`; its folder is created.

    Raises:
        AIError: CONFLICT when another program, or another task of this one, is downloading it.
        OSError: the folder cannot be written to.
    """
    private_folder(target.parent)
    path = target.with_name(target.name + ".part.lock")
    while True:
        descriptor = open_lock(path)
        is_free = try_lock(descriptor)
        if is_free and is_named(descriptor, path):
            break
        os.close(descriptor)
        if not is_free:
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another instance is downloading {clean_name(target.name)}.",
                hint="Wait for it, or stop it there.",
            )
        # else its holder has just deleted the file: this lock protects nothing
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def open_part(target: Path, write: Write) -> PartFile:
    """Open or create a partial file; only inside `exclusive_part`.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    descriptor = open_regular(part_path(target), os.O_RDWR | os.O_CREAT, follows_links=False)
    try:
        os.fchmod(descriptor, _PRIVATE)  # the umask may have cleared more than it should
        return PartFile(target, descriptor, write)
    except BaseException:
        os.close(descriptor)
        raise


def remove_part(target: Path) -> None:
    """Delete a partial file and its state."""
    for ending in (".part", ".part.json", ".part.json.new"):
        target.with_name(target.name + ending).unlink(missing_ok=True)


def remove_leftovers(target: Path, *, has_record: bool) -> None:
    """Delete a partial file, and its state unless that is the record of the whole file."""
    if has_record:
        part_path(target).unlink(missing_ok=True)
    else:
        remove_part(target)


def matches_record(target: Path) -> bool:
    """Whether `target` is the very file whose record was kept when it was published."""
    state = load_state(state_path(target))
    try:
        status = target.lstat()
        rest = part_path(target).lstat().st_size if os.path.lexists(part_path(target)) else 0
    except OSError:
        return False
    is_same = state is not None and status.st_size == state.done == state.size
    return is_same and not rest and stat.S_ISREG(status.st_mode)


def remove_record(target: Path) -> None:
    """Delete the record of a complete file."""
    state_path(target).unlink(missing_ok=True)


def resumable_bytes(target: Path) -> int:
    """Return how many bytes of a partial file can be resumed after; 0 if none."""
    state = load_state(state_path(target))
    try:
        status = part_path(target).lstat()
    except OSError:
        return 0
    is_there = state is not None and stat.S_ISREG(status.st_mode) and status.st_size >= state.done
    return state.done if state is not None and is_there else 0
