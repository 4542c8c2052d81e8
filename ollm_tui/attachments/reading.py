"""Read the bytes of a file that a person names: a regular file, up to a limit.

A pipe, a device or a file of the kernel is refused without being opened, since opening one may
wait or do something. Links are followed, as a person's own folders may be links; what is opened
is where they end, and never a link that took its place meanwhile.
"""

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ollm_tui.config.regular_file import TooLongError, read_bounded, real_path
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode

MOST_TOGETHER_BYTES: Final = 50_000_000
"""Limit for all files of one message together; most servers have a lower one."""
_KERNEL_FOLDERS: Final = frozenset({"proc", "sys", "dev"})
_LONGEST_SHOWN: Final = 200
_READING_S: Final = 60.0
"""A picture on a slow network disk may take a while; the chat can be used meanwhile."""
_REASONS: Final[Mapping[int, str]] = MappingProxyType(
    {
        errno.ENOENT: "does not exist",
        errno.ENOTDIR: "has a part that is not a folder",
        errno.EACCES: "cannot be read: permission denied",
        errno.EPERM: "cannot be read: permission denied",
        errno.ELOOP: "has links that form a loop or changed while reading",
        errno.ENAMETOOLONG: "has a name in it that is too long",
    }
)


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The contents of a file."""

    name: str
    """The file's own name, clean; where a link leads, that of its end."""
    data: bytes


def shown_path(path: Path) -> str:
    """Return a path for display: invisible characters spelled out, and shortened."""
    return clean_name(os.fsencode(path).decode(errors="replace")[-_LONGEST_SHOWN:])


def refusal(sentence: str, hint: str | None = None) -> AIError:
    """Make the error of a file that cannot be attached."""
    return AIError(ErrorCode.BAD_REQUEST, sentence, hint=hint)


def read_file(path: Path, most: int) -> FileBytes:
    """Read a file of at most `most` bytes. May wait for a slow disk: call it in a thread.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    try:
        return _read(path, most)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be read ({error.strerror or error})")
        raise refusal(f"{shown_path(path)} {reason}.") from None


def _read(path: Path, most: int) -> FileBytes:
    # Not strict: a loop of links is reported by what follows.
    end = real_path(path)
    _require_plain(path, end)
    try:
        data = read_bounded(end, most, follows_links=False, within_s=_READING_S)
    except TooLongError:
        size, megabytes = end.stat().st_size, most / 1_000_000
        raise refusal(
            f"{shown_path(path)} has {size / 1e6:,.1f} MB; {megabytes:g} MB is the limit."
        ) from None
    if not data:
        raise refusal(f"{shown_path(path)} is empty.")
    return FileBytes(shown_path(Path(end.name)), data)


def _require_plain(path: Path, end: Path) -> None:
    status = end.lstat()
    shown = shown_path(path)
    if end.parts[1:2] and end.parts[1] in _KERNEL_FOLDERS:
        raise refusal(f"{shown} belongs to the system and is not read.")
    if stat.S_ISDIR(status.st_mode):
        raise refusal(f"{shown} is a folder.", "Name a file in it.")
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    if not stat.S_ISREG(status.st_mode):
        raise refusal(f"{shown} is not a file but a pipe, socket or device.")
