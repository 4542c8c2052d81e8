"""Writes an export: a private file that appears whole under its name, or not at all."""

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import sync_folder
from ollm_tui.config.regular_file import is_there, real_path, why_unreadable
from ollm_tui.protocol.errors import AIError, ErrorCode

_PRIVATE: Final = 0o600
_UNUSABLE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_LONGEST_NAME: Final = 60


class NameTaken(AIError):
    """A file has the name already."""

    def __init__(self, path: Path) -> None:
        super().__init__(ErrorCode.CONFLICT, f"{path} exists already.")


def write_file(path: Path, pieces: Iterable[str], *, replaces: bool = False) -> int:
    """Write text to a file that its owner alone can read; return its size. Blocks.

    The bytes are on the disk before the file gets its name.

    Raises:
        NameTaken: a file has the name, and `replaces` is False.
        AIError: it cannot be written; nothing is left of it.
    """
    try:
        target = real_path(path)
        _check(path, target, replaces=replaces)
        part = target.with_name(f".{os.urandom(8).hex()}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, _PRIVATE), "wb") as file:
            try:
                for piece in pieces:
                    file.write(piece.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
                _publish(path, part, target, replaces=replaces)
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
        sync_folder(target.parent)
    except (OSError, ValueError) as error:
        raise _failed(path, error) from error
    return size


def _check(path: Path, target: Path, *, replaces: bool) -> None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise AIError(ErrorCode.BAD_REQUEST, f"{path} is not a file.")
    if not replaces:
        raise NameTaken(path)


def _publish(path: Path, part: Path, target: Path, *, replaces: bool) -> None:
    if not replaces:
        try:
            os.link(part, target)  # in one step, only if no file has the name
        except FileExistsError:
            raise NameTaken(path) from None
        except OSError:  # not every file system has links
            _check(path, target, replaces=False)
        else:
            return
    part.replace(target)


def _failed(path: Path, error: OSError | ValueError) -> AIError:
    reason = why_unreadable(error)
    if isinstance(error, FileNotFoundError):
        reason = "its folder does not exist"
    return AIError(ErrorCode.INTERNAL_ERROR, f"{path} cannot be written: {reason}.")


def free_name(folder: Path, title: str, suffix: str) -> Path:
    """Return a path for a chat of this title that no file has."""
    stem = " ".join(_UNUSABLE.sub(" ", title).split())[:_LONGEST_NAME].strip(" .") or "Chat"
    for number in count(1):
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem} {number}{suffix}")
        if not is_there(path):
            break
    return path
