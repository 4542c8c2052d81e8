"""Open a path that a model wrote, and never anything outside the root.

It is walked by descriptors, one component at a time, never through a link (`O_NOFOLLOW`).
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.tools.builtin.guard import FileGuard, Watch, shown_path
from ollm_tui.tools.define import ToolFailure

MAX_PATH_LENGTH = 4096
MAX_LINKS = 40
MAX_STEPS = 1000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_REASONS: Mapping[int, str] = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "has a part that is not a folder",
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: permission denied",
    errno.EINVAL: "is neither a file nor a folder but a pipe, socket or device",
    errno.ENXIO: "is neither a file nor a folder but a pipe, socket or device",
    errno.ELOOP: "has links that form a loop or changed while reading",
    errno.ENAMETOOLONG: "has a name in it that is too long",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A file or folder inside the root, open."""

    fd: int
    names: tuple[str, ...]
    """The real path from the root, without links."""
    status: os.stat_result
    """Of what is open, not of what the path leads to by now."""
    watch: Watch
    """Decides what may be opened below it."""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder; otherwise it is a regular file."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def shown(self) -> str:
        """The path from the root as text that a model can read and use."""
        return shown_path(self.names)


@contextmanager
def resolve_in_root(root: Path, path: str, guard: FileGuard | None = None) -> Iterator[Resolved]:
    """Open a path inside `root`, an absolute path without links, for the duration of the block.

    Raises:
        ToolFailure: it leads outside, does not exist, is neither a file nor a folder, or may not be
            opened by a tool.
    """
    wanted = _split(root, path)
    walk = _Walk(root, path, (guard or FileGuard()).look(root))
    try:
        try:
            walk.go(wanted)
            status = os.fstat(walk.fd)
        except OSError as error:
            raise ToolFailure(_explain(path, error)) from None
        yield Resolved(walk.fd, tuple(walk.names), status, walk.watch)
    finally:
        walk.close()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file inside the root is or would be; the nearest folder that exists is open."""

    fd: int
    folders: tuple[str, ...]
    """The real path of the open folder from the root, without links."""
    missing: tuple[str, ...]
    """Folders between it and the file that do not exist."""
    name: str
    watch: Watch

    @property
    def names(self) -> tuple[str, ...]:
        """The real path of the file from the root."""
        return (*self.folders, *self.missing, self.name)

    @property
    def shown(self) -> str:
        """The path of the file from the root as text."""
        return shown_path(self.names)


@contextmanager
def place_in_root(root: Path, path: str, guard: FileGuard | None = None) -> Iterator[Place]:
    """Find where a path that may be new leads inside `root`, for the duration of the block.

    Links are followed as by `resolve_in_root`, the last name of the path too.

    Raises:
        ToolFailure: it leads outside, has no name, or may not be changed by a tool.
    """
    wanted = _split(root, path)
    walk = _Walk(root, path, (guard or FileGuard()).look(root))
    try:
        try:
            rest = walk.go_near(wanted)
        except OSError as error:
            raise ToolFailure(_explain(path, error)) from None
        for end in range(len(rest)):
            names = (*walk.names, *rest[: end + 1])
            walk.watch.require_name(names, is_folder=end < len(rest) - 1)
        walk.watch.require_new(walk.names, rest, os.fstat(walk.fd))
        yield Place(walk.fd, tuple(walk.names), tuple(rest[:-1]), rest[-1], walk.watch)
    finally:
        walk.close()


def open_child(folder_fd: int, name: str) -> tuple[int, os.stat_result]:
    """Open a file or folder in an open folder, never through a link and never waiting.

    What is open has to be what the name still refers to: only then does its number of links tell
    whether it has another name in a protected place.

    Raises:
        OSError: it does not exist, is no regular file or folder (EINVAL), is a link or has changed
            (ELOOP).
    """
    # Checked first, because opening a device may have effects, and again once it is open.
    _require_plain(os.stat(name, dir_fd=folder_fd, follow_symlinks=False))
    fd = os.open(name, _FLAGS, dir_fd=folder_fd)
    try:
        status = os.fstat(fd)
        _require_plain(status)
        _require_same(status, os.stat(name, dir_fd=folder_fd, follow_symlinks=False))
    except OSError:
        os.close(fd)
        raise
    return fd, status


def _require_same(opened: os.stat_result, named: os.stat_result) -> None:
    is_file = stat.S_ISREG(opened.st_mode)
    if not os.path.samestat(opened, named) or (is_file and opened.st_nlink != named.st_nlink):
        raise OSError(errno.ELOOP, "it was changed meanwhile")


def _require_plain(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "it is a pipe, socket or device")


def _split(root: Path, path: str) -> list[str]:
    if "\0" in path:
        raise ToolFailure("A path cannot hold the character NUL.")
    if len(os.fsencode(_encodable(path))) > MAX_PATH_LENGTH:
        raise ToolFailure(f"The path is longer than {MAX_PATH_LENGTH} bytes.")
    return _below(root, path, path)


def _below(root: Path, requested: str, target: str) -> list[str]:
    """Return the names of a target from the root; an absolute one has to begin with the root."""
    names = [name for name in target.split("/") if name not in {"", "."}]
    if not target.startswith("/"):
        return names
    above = root.parts[1:]
    if tuple(names[: len(above)]) != above:
        raise _outside(root, requested, target)
    return names[len(above) :]


def _encodable(path: str) -> str:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToolFailure("The path is not valid text.") from None
    return path


def _outside(root: Path, requested: str, target: str) -> ToolFailure:
    shown = clean_name(requested)
    leads = "" if requested == target else f" leads to {clean_name(target)}, which"
    return ToolFailure(f"{shown}{leads} is outside {root}; tools reach only what is inside.")


@dataclass(slots=True)
class _Walk:
    """The position of the walk; only the current folder is open."""

    root: Path
    requested: str
    watch: Watch
    fd: int = -1
    names: list[str] = field(default_factory=list)
    opened: int = 0
    links: int = 0

    def go(self, wanted: Sequence[str]) -> None:
        """Walk all the names, and those of links in their place."""
        self._restart()
        left = list(reversed(wanted))
        while left:
            name = self._next(left)
            if name is None:
                continue
            target = self._link_target(name)
            if target is None:
                self._down(name)
            else:
                self._follow(target, left)

    def go_near(self, wanted: Sequence[str]) -> list[str]:
        """Walk as far as there are folders; return the names that are left, at least one."""
        self._restart()
        left = list(reversed(wanted))
        while left:
            name = self._next(left)
            if name is None:
                continue
            try:
                target = self._link_target(name)
            except FileNotFoundError:
                if ".." in left:
                    raise
                return [name, *reversed(left)]
            if target is not None:
                self._follow(target, left)
            elif left:
                self._down(name)
            else:
                return [name]
        raise ToolFailure(f"{shown_path(self.names)} is a folder.")

    def _next(self, left: list[str]) -> str | None:
        """Take the next name; None if it led up, which is done."""
        name = left.pop()
        if name != "..":
            return name
        self._up()
        return None

    def close(self) -> None:
        """Close what is open."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _restart(self, names: Sequence[str] = ()) -> None:
        """Go down from the root again: `..` of the system would follow a folder moved outside."""
        self.close()
        self.names = []
        self.fd = os.open(self.root, _FLAGS | os.O_DIRECTORY)
        self.watch.require_above(self.fd)
        for name in names:
            self._down(name)

    def _up(self) -> None:
        if not self.names:
            raise _outside(self.root, self.requested, self.requested)
        self._restart(self.names[:-1])

    def _down(self, name: str) -> None:
        self.opened += 1
        if self.opened > MAX_STEPS:
            raise ToolFailure("The path takes too many steps.")
        names = (*self.names, name)
        self.watch.require_name(names, is_folder=True)
        fd, status = open_child(self.fd, name)
        try:
            self.watch.require_opened(names, status, os.fstat(self.fd))
        except ToolFailure:
            os.close(fd)
            raise
        self.close()
        self.fd = fd
        self.names.append(name)

    def _link_target(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise

    def _follow(self, target: str, left: list[str]) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise OSError(errno.ELOOP, "too many links")
        names = _below(self.root, self.requested, target)
        if target.startswith("/"):
            self._restart()
        elif self._leaves(names):
            raise _outside(
                self.root, self.requested, os.path.normpath(Path(self.root, *self.names, target))
            )
        left.extend(reversed(names))

    def _leaves(self, names: Sequence[str]) -> bool:
        depth = len(self.names)
        for name in names:
            depth += -1 if name == ".." else 1
            if depth < 0:
                return True
        return False


def _explain(path: str, error: OSError) -> str:
    shown = clean_name(path[:200])
    reason = _REASONS.get(error.errno or 0, f"cannot be opened: {error.strerror or error}")
    return f"{shown} {reason}."
