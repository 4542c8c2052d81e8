"""Opens files for reading: only regular ones, without blocking, and with a size limit.

The kind is checked before, since opening a device may have effects, and again once it is open.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Mapping
from io import FileIO
from pathlib import Path
from typing import Final

READING_S: Final = 10.0
"""Time limit for reading a file; a slow disk needs far less for the sizes read here."""
_CHUNK: Final = 1 << 20
_PRIVATE: Final = 0o600
_KINDS: Final[tuple[tuple[Callable[[int], bool], str], ...]] = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISLNK, "it is a link"),
)
_REASONS: Final[Mapping[int, str]] = {
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "its links form a loop",
    errno.ENAMETOOLONG: "its path is too long",
}


class NotRegularError(OSError):
    """The path is not a regular file; `strerror` names its kind."""


class TooLongError(ValueError):
    """A file is longer than allowed."""


def require_regular(status: os.stat_result) -> None:
    """Raise `NotRegularError` for everything but a regular file."""
    if not stat.S_ISREG(status.st_mode):
        words = (words for is_kind, words in _KINDS if is_kind(status.st_mode))
        raise NotRegularError(errno.EINVAL, next(words, "it is a device, not a file"))


def open_regular(path: Path, flags: int = os.O_RDONLY, *, follows_links: bool = True) -> int:
    """Open a regular file without blocking; a new one is readable by its owner alone.

    Raises:
        OSError: It cannot be opened; NotRegularError if it is not a regular file.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its path holds a NUL character")
    try:
        require_regular(path.stat(follow_symlinks=follows_links))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    if not follows_links:
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags, _PRIVATE)
    try:
        require_regular(os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_binary(path: Path) -> FileIO:
    """Open a file as `open_regular`, for unbuffered reading, which the reader has to limit."""
    return os.fdopen(open_regular(path), "rb", 0)


def read_bounded(
    path: Path, most: int, *, follows_links: bool = True, within_s: float = READING_S
) -> bytes:
    """Read a regular file of at most `most` bytes, even if it grows meanwhile.

    Raises:
        TooLongError: It is longer; a ValueError.
        OSError: It cannot be read, or not within `within_s` seconds.
    """
    descriptor = open_regular(path, follows_links=follows_links)
    try:
        if os.fstat(descriptor).st_size > most:
            raise TooLongError(f"longer than {most} bytes")
        return _read(descriptor, most, time.monotonic() + within_s)
    finally:
        os.close(descriptor)


def _read(descriptor: int, most: int, until: float) -> bytes:
    data = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK, most + 1 - len(data))):
        data += chunk
        if len(data) > most:
            raise TooLongError(f"longer than {most} bytes")
        if time.monotonic() >= until:
            raise TimeoutError(errno.ETIMEDOUT, "it takes too long to read")
    return bytes(data)


def is_there(path: Path) -> bool:
    """Whether a path exists; False if access is denied."""
    return _mode(path) is not None


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False if access is denied."""
    return stat.S_ISDIR(_mode(path) or 0)


def is_file(path: Path) -> bool:
    """Whether a path is a regular file; False if access is denied."""
    return stat.S_ISREG(_mode(path) or 0)


def real_path(path: Path) -> Path:
    """Follow the links of a path as far as possible; `Path.resolve` fails if they form a loop."""
    return Path(os.path.realpath(path))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a ValueError is for a NUL or what cannot be encoded
        return None


def why_unreadable(error: OSError | ValueError) -> str:
    """Return why a file could not be read in a few words: "it is a folder"."""
    match error:
        case TooLongError():
            return f"it is {error}"
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case OSError(errno=number, strerror=text):
            return _REASONS.get(number or 0) or text or "the disk gave no reason"
        case _:
            return str(error)
