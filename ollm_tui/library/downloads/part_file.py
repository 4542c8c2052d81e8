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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import open_regular, read_bounded
from ollm_tui.library.downloads.locks import sole_writer
from ollm_tui.protocol.json_types import JsonMapping, JsonValue

VERSION: Final = 1
MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """A download as the disk knows it."""

    url: str
    """Without name, password and query."""
    etag: str | None = None
    """A strong one; None where the server gave none that can be relied on."""
    size: int | None = None
    sha256: str | None = None
    done: int = 0
    """So many bytes are on the disk for good; whatever follows them counts for nothing."""


def load_state(path: Path) -> PartState | None:
    """Read a state; None where there is none that can be trusted. Touches the disk."""
    try:
        return _state(read_bounded(path, MOST_BYTES, follows_links=False))
    except (OSError, ValueError):
        return None


def save_state(path: Path, state: PartState) -> None:
    """Write a state in one step: there is the old one or the new one, never a part of one.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    data = json.dumps({"version": VERSION} | asdict(state)).encode()
    # A kill leaves the new one under a name that is known and removed with the rest.
    write_private(path, data, by_way_of=new_state_path(path), lasting=False)


def new_state_path(path: Path) -> Path:
    """Give where the next state is written before it takes the name of the one before."""
    return path.with_name(path.name + ".new")


def _state(text: bytes) -> PartState | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return None
    fields: JsonMapping = value
    url, done = fields.get("url"), _count(fields.get("done"))
    size = _count(fields.get("size"))
    if not isinstance(url, str) or done is None or (size is not None and done > size):
        return None
    return PartState(
        url=url,
        etag=_text(fields.get("etag")),
        size=size,
        sha256=_text(fields.get("sha256")),
        done=done,
    )


def _count(value: JsonValue) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return int(value) if is_count and isinstance(value, int) else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


SLICE_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024


class RunningSum:
    """The sum of the first `covered` bytes of a file."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.covered = 0

    def add(self, data: bytes, at: int) -> None:
        """Take bytes that were written at `at`; they count if nothing before them is missing."""
        if at == self.covered:
            self._digest.update(data)
            self.covered += len(data)

    def cut(self, length: int) -> None:
        """The file was cut to a length; a sum cannot be taken back, so it may begin anew."""
        if length < self.covered:
            self._digest, self.covered = hashlib.sha256(), 0

    def catch_up(self, descriptor: int, length: int) -> bool:
        """Read some of what is not covered; gives whether `length` bytes are covered now.

        Raises:
            OSError: the file cannot be read, or is shorter.
        """
        end = min(length, self.covered + SLICE_BYTES)
        while self.covered < end:
            piece = os.pread(descriptor, min(_PIECE_BYTES, end - self.covered), self.covered)
            if not piece:
                raise OSError("the file has become shorter")
            self.add(piece, self.covered)
        return self.covered >= length

    def hexdigest(self) -> str:
        """Give the sum of what is covered."""
        return self._digest.hexdigest()


Write: TypeAlias = Callable[[int, memoryview, int], int]
"""As `os.pwrite`: a descriptor, what to write, and where."""
MOST_UNSAVED_BYTES: Final = 6 * 1024 * 1024
LEAST_UNSAVED_BYTES: Final = 16 * 1024
UNSAVED_PART: Final = 40
"""A kill may cost one part in so many of a file, within the two bounds above."""
_PRIVATE: Final = 0o600


class PartFile:
    """The file of one target while this program is its only writer; every call touches the disk."""

    def __init__(self, target: Path, descriptor: int, write: Write) -> None:
        self._target = target
        self._descriptor = descriptor
        self._write = write
        self._synced = 0
        self.written = 0
        """Where the next byte goes."""
        self.sum = RunningSum()
        self.state = self._trusted()
        if self.state is not None:
            self.written = self._synced = self.state.done

    def begin(self, state: PartState, start: int) -> None:
        """Go on with a body that begins at `start`; what lies behind it is thrown away."""
        os.ftruncate(self._descriptor, start)
        self.sum.cut(start)
        self.written, self._synced = start, min(self._synced, start)
        self._save(state)

    def write(self, pieces: Sequence[bytes]) -> None:
        """Write what has come, and force it to the disk when enough has gathered."""
        for piece in pieces:
            left, place = memoryview(piece), self.written
            while left:
                count = self._write(self._descriptor, left, place)
                left, place = left[count:], place + count
            self.sum.add(piece, self.written)
            self.written = place
        if self.written - self._synced >= self.unsaved_bytes():
            self.settle()

    def settle(self) -> None:
        """Make everything that was written count."""
        if self.state is None or self.written == self._synced:
            return
        os.fsync(self._descriptor)
        self._named()
        self._synced = self.written
        self._save(self.state)

    def read_on(self) -> bool:
        """Read some more for the sum; gives whether it is of the whole file."""
        return self.sum.catch_up(self._descriptor, self.written)

    def publish(self, *, keeps_record: bool = False) -> None:
        """Give the file its name, for good; see `came_whole` for the record.

        Raises:
            FileExistsError: another file has taken it meanwhile.
        """
        os.fsync(self._descriptor)
        self._named()
        if os.path.lexists(self._target):
            raise FileExistsError("another file of that name has come meanwhile")
        if keeps_record and self.state is not None:
            self._synced = self.written
            self._save(replace(self.state, size=self.written))
        part_path(self._target).replace(self._target)
        sync_folder(self._target.parent)
        if not keeps_record:
            forget_record(self._target)

    def close(self) -> None:
        """Let go of the file; one of which nothing has come is removed."""
        try:
            if os.fstat(self._descriptor).st_size == 0:
                with suppress(OSError):
                    self._named()
                    remove_rest(self._target, has_record=came_whole(self._target))
        finally:
            os.close(self._descriptor)

    def _trusted(self) -> PartState | None:
        state = load_state(state_path(self._target))
        is_there = state is not None and os.fstat(self._descriptor).st_size >= state.done
        return state if is_there else None

    def unsaved_bytes(self) -> int:
        """Give how much may be written before it is forced to the disk."""
        size = self.state.size if self.state is not None else None
        known = self.written if size is None else size
        return max(LEAST_UNSAVED_BYTES, min(MOST_UNSAVED_BYTES, known // UNSAVED_PART))

    def _save(self, state: PartState) -> None:
        self.state = replace(state, done=self._synced)
        save_state(state_path(self._target), self.state)

    def _named(self) -> None:
        """Make sure that the name still means this file.

        Raises:
            FileNotFoundError: somebody has removed it, or put another one there.
        """
        found = part_path(self._target).lstat()
        if not os.path.samestat(found, os.fstat(self._descriptor)):
            raise FileNotFoundError("it was replaced while it came")


def part_path(target: Path) -> Path:
    """Give where the bytes of a file lie while it comes."""
    return target.with_name(target.name + ".part")


def state_path(target: Path) -> Path:
    """Give where it is written down how far it is."""
    return target.with_name(target.name + ".part.json")


@contextmanager
def sole_part(target: Path) -> Iterator[None]:
    """Be the only one that works at what comes for `target`; its folder is made.

    Raises:
        AIError: CONFLICT when another instance is at it.
        OSError: the folder cannot be written to.
    """
    private_folder(target.parent)
    with sole_writer(target.with_name(target.name + ".part.lock"), target.name):
        yield


def open_part(target: Path, write: Write) -> PartFile:
    """Open what has come, or begin; only inside `sole_part`.

    Raises:
        OSError: it cannot be opened, or something that is no file lies in its place.
    """
    descriptor = open_regular(part_path(target), os.O_RDWR | os.O_CREAT, follows_links=False)
    try:
        os.fchmod(descriptor, _PRIVATE)  # the mask may have taken more than it should
        return PartFile(target, descriptor, write)
    except BaseException:
        os.close(descriptor)
        raise


def remove(target: Path) -> None:
    """Remove what has come of a file and what was written down about it."""
    part_path(target).unlink(missing_ok=True)
    state_path(target).unlink(missing_ok=True)
    new_state_path(state_path(target)).unlink(missing_ok=True)


def remove_rest(target: Path, *, has_record: bool) -> None:
    """Remove what is of no use any more; the record of a whole file is its giver's to forget."""
    if has_record:
        part_path(target).unlink(missing_ok=True)
    else:
        remove(target)


def came_whole(target: Path) -> bool:
    """Whether the file that is there is the very one whose record was kept when it came."""
    state = load_state(state_path(target))
    try:
        found = target.lstat()
        rest = part_path(target).lstat().st_size if os.path.lexists(part_path(target)) else 0
    except OSError:
        return False
    is_that = state is not None and found.st_size == state.done == state.size
    return is_that and not rest and stat.S_ISREG(found.st_mode)


def forget_record(target: Path) -> None:
    """Take away what was written down about a file that is whole."""
    state_path(target).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def recorded(target: Path) -> int:
    """Give how many bytes there are that can be gone on after."""
    state = load_state(state_path(target))
    try:
        found = part_path(target).lstat()
    except OSError:
        return 0
    is_there = state is not None and stat.S_ISREG(found.st_mode) and found.st_size >= state.done
    return state.done if state is not None and is_there else 0
