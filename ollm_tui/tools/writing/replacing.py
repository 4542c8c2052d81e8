"""Replace a file inside the root as a whole, if it still is what was shown, or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.tools.builtin.guard import FileGuard, content_refusal, shown_path
from ollm_tui.tools.builtin.root import Place, open_child, place_in_root
from ollm_tui.tools.define import ToolFailure

MAX_BYTES: Final = 1_000_000
"""Size of a file that tools change, before and after."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
_RESTS: Final = ".ollm-"
"""How the names of files that are still being written begin."""


class ChangedSince(ToolFailure):
    """Somebody else has written the file."""

    def __init__(self, shown: str) -> None:
        super().__init__(f"{shown} has changed meanwhile, so it was not written. Read it again.")


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None stands for no file."""

    root: Path
    names: tuple[str, ...]
    """The real path from the root."""
    old: bytes | None
    new: bytes | None
    mode: int | None = None
    """Permissions of the file before; None leaves them to the system."""

    @property
    def shown(self) -> str:
        """The path as text."""
        return shown_path(self.names)

    @property
    def reverse(self) -> "Change":
        """The change that takes this one back."""
        return Change(self.root, self.names, self.new, self.old, self.mode)


def read_place(place: Place) -> tuple[bytes | None, int | None]:
    """Return content and permissions of the file at a place; None for both if there is none.

    Raises:
        ToolFailure: it is no file that a tool may change.
    """
    if place.missing:
        return None, None
    try:
        fd, status = open_child(place.fd, place.name)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise ToolFailure(_refusal(place.shown, error)) from None
    try:
        place.watch.require_opened(place.names, status, os.fstat(place.fd))
        _require_changeable(place.shown, status)
        content = _read(fd)
    finally:
        os.close(fd)
    if place.watch.holds_keys([content]):
        raise content_refusal(place.shown)
    return content, stat.S_IMODE(status.st_mode) & 0o777


def replace(change: Change, guard: FileGuard) -> None:
    """Make a change, whole or not at all, if the file still is as it was.

    Raises:
        ToolFailure: it has changed since, or cannot be written.
    """
    try:
        with _unchanged(change, guard) as place, _folder_of(place) as folder:
            if change.new is None:
                os.unlink(place.name, dir_fd=folder)
            else:
                _publish(change, guard, folder, place.name)
            os.fsync(folder)
    except OSError as error:
        raise ToolFailure(_refusal(change.shown, error)) from None


def is_as_before(change: Change, guard: FileGuard) -> bool:
    """Whether a file is as it was before a change, which then needs not be taken back."""
    try:
        with place_in_root(change.root, "/".join(change.names), guard) as place:
            return place.names == change.names and read_place(place)[0] == change.old
    except (OSError, ToolFailure):
        return False


def remove_empty(change: Change, count: int, guard: FileGuard) -> None:
    """Remove the innermost `count` folders of a file that is gone, as far as they are empty."""
    names = change.names
    for _ in range(count):
        names = names[:-1]
        try:
            with place_in_root(change.root, "/".join(names), guard) as place:
                if place.names != names:
                    return
                os.rmdir(place.name, dir_fd=place.fd)
        except (OSError, ToolFailure):
            return


@contextmanager
def _unchanged(change: Change, guard: FileGuard) -> Iterator[Place]:
    with place_in_root(change.root, "/".join(change.names), guard) as place:
        if place.names != change.names or read_place(place)[0] != change.old:
            raise ChangedSince(change.shown)
        yield place


@contextmanager
def _folder_of(place: Place) -> Iterator[int]:
    """Open the folder of a file; the ones that are missing are made, and removed after a fault."""
    opened = [os.dup(place.fd)]
    made: list[tuple[int, str]] = []
    try:
        for name in place.missing:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=opened[-1])
                made.append((opened[-1], name))
            opened.append(os.open(name, _FOLDER, dir_fd=opened[-1]))
        try:
            yield opened[-1]
        except BaseException:
            for fd, name in reversed(made):
                with suppress(OSError):
                    os.rmdir(name, dir_fd=fd)
            raise
    finally:
        for fd in opened:
            os.close(fd)


def _publish(change: Change, guard: FileGuard, folder: int, name: str) -> None:
    """Write beside the file, then put that in its place: a crash leaves the old or the new one."""
    assert change.new is not None
    rest = f"{_RESTS}{secrets.token_hex(8)}"
    fd = os.open(rest, _NEW, 0o666 if change.mode is None else 0o600, dir_fd=folder)
    try:
        try:
            _write(fd, change.new)
            if change.mode is not None:
                os.fchmod(fd, change.mode)
            os.fsync(fd)
        finally:
            os.close(fd)
        _require_still(change, guard, folder)
        if change.old is None:
            _add(rest, name, folder)
        else:
            os.rename(rest, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(OSError):
            os.unlink(rest, dir_fd=folder)


def _require_still(change: Change, guard: FileGuard, folder: int) -> None:
    """Look once more, right before the file is replaced: writing may have taken a while."""
    with place_in_root(change.root, "/".join(change.names), guard) as place:
        same = os.path.samestat(os.fstat(place.fd), os.fstat(folder))
        if not same or place.names != change.names or read_place(place)[0] != change.old:
            raise ChangedSince(change.shown)


def _add(rest: str, name: str, folder: int) -> None:
    """Give a new file its name; unlike renaming, this replaces nothing."""
    try:
        os.link(rest, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # a file system without hard links
        os.rename(rest, name, src_dir_fd=folder, dst_dir_fd=folder)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read(fd: int) -> bytes:
    content = b""
    while len(content) <= MAX_BYTES and (part := os.read(fd, MAX_BYTES + 1 - len(content))):
        content += part
    return content


def _require_changeable(shown: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailure(f"{shown} is a folder.")
    if status.st_nlink > 1:
        raise ToolFailure(
            f"{shown} has another name elsewhere (a hard link), so tools do not change it."
        )
    if status.st_size > MAX_BYTES:
        raise ToolFailure(f"{shown} is larger than 1 MB, so tools do not change it.")


def _refusal(shown: str, error: OSError) -> str:
    if error.errno in {errno.EINVAL, errno.ENXIO}:
        return f"{shown} is neither a file nor a folder but a pipe, socket or device."
    if error.errno == errno.ELOOP:
        return str(ChangedSince(shown))
    return f"{clean_name(shown)} cannot be written: {why_unreadable(error)}."
