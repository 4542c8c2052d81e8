"""Errors of SQLite as sentences."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ollm_tui.protocol.errors import AIError, ErrorCode

_PRIMARY: Final = 0xFF  # the low byte of an extended result code is the kind

DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_KEPT: Final = "What is not saved stays in memory and is saved as soon as that works."

_SENTENCES: Final[Mapping[int, tuple[str, ErrorCode, str, str]]] = {
    sqlite3.SQLITE_FULL: ("disk_full", ErrorCode.INTERNAL_ERROR, "disk full",
        f"Free at least 2 MB. {_KEPT}"),
    sqlite3.SQLITE_IOERR: ("disk_failed", ErrorCode.INTERNAL_ERROR,
        "the disk refused to write or read", f"It may be full, over a quota, or failing. {_KEPT}"),
    sqlite3.SQLITE_READONLY: ("read_only", ErrorCode.PERMISSION_DENIED, "the file is read-only",
        f"Make the file and its folder writable. {_KEPT}"),
    sqlite3.SQLITE_CANTOPEN: ("cannot_open", ErrorCode.PERMISSION_DENIED,
        "the file cannot be opened", f"Check the permissions of its folder. {_KEPT}"),
    sqlite3.SQLITE_BUSY: ("locked", ErrorCode.CONFLICT, "another program holds the file",
        f"Close what has it open. {_KEPT}"),
    **dict.fromkeys(DAMAGED, ("damaged", ErrorCode.INTERNAL_ERROR, "the file is damaged",
        "Start again: what can be read of it is saved to a new file, and the old one is kept.")),
}  # fmt: skip


def kind_of(error: sqlite3.Error) -> int:
    """Return the primary result code, or 0 if SQLite gave none."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & _PRIMARY if isinstance(code, int) else 0


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file itself is damaged."""
    return kind_of(error) in DAMAGED


def translated(error: sqlite3.Error, path: Path, verb: str) -> AIError:
    """Return an error of SQLite as a sentence: "Not saved: disk full."."""
    reason, code, what, hint = _SENTENCES.get(
        kind_of(error),
        ("unexpected", ErrorCode.INTERNAL_ERROR, f"{error}", "The log has the details."),
    )
    return AIError(
        code,
        f"Not {verb}: {what}.",
        hint=hint,
        details={"reason": reason, "path": str(path)},
        retryable=reason not in {"damaged", "unexpected"},
    )


@contextmanager
def mapped_faults(path: Path, verb: str, note_damage: Callable[[], None]) -> Iterator[None]:
    """Raise errors of SQLite in the block as `AIError`; damage is noted."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            note_damage()
        raise translated(error, path, verb) from error
