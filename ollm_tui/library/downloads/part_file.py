"""A file that is coming: the bytes beside their target, and what is written down about them.

The order keeps it trustworthy whenever the program or the machine ends: bytes are forced to the
disk first, then the state says so; whatever lies behind the offset of the state is thrown away. At
the end the file is forced to the disk, gets its name in one step, and then the state goes.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import open_regular
from ollm_tui.library.downloads.part_state import (
    PartState,
    load_state,
    new_state_path,
    save_state,
)
from ollm_tui.library.downloads.running_sum import RunningSum
from ollm_tui.library.downloads.sole_writer import sole_writer

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
