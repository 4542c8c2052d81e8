"""Writes an export to a private file, and finds a name for it."""

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Final

from ollm_tui.config.new_file import NewFile
from ollm_tui.config.regular_file import is_there
from ollm_tui.lazy import lazy_re

_PRIVATE: Final = 0o600
_UNUSABLE: Final = lazy_re(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_MAX_NAME_LENGTH: Final = 60


def write_file(path: Path, pieces: Iterable[str], *, replaces: bool = False) -> int:
    """Write text to a file that its owner alone can read; return its size. Blocks.

    The bytes are on the disk before the file gets its name.

    Raises:
        NameTaken: a file has the name, and `replaces` is False.
        AIError: it cannot be written; nothing is left of it.
    """
    with NewFile(path, replaces=replaces, mode=_PRIVATE) as file:
        for piece in pieces:
            file.append(piece.encode("utf-8", "replace"))
        file.publish()
    return file.size


def free_name(folder: Path, title: str, suffix: str) -> Path:
    """Return a path for a chat of this title that no file has."""
    stem = " ".join(_UNUSABLE.sub(" ", title).split())[:_MAX_NAME_LENGTH].strip(" .") or "Chat"
    for number in count(1):
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem} {number}{suffix}")
        if not is_there(path):
            break
    return path
