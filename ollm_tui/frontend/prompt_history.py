"""Earlier prompts: walked with Up and Down, kept in a file of JSON lines."""

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import open_regular, why_unreadable

MAX_ENTRIES: Final = 1000
MAX_ENTRY_CHARACTERS: Final = 64_000
"""A longer prompt is remembered while the program runs, but not saved."""
_MAX_READ_BYTES: Final = 4_000_000
_log: Final = logging.getLogger(__name__)


class PromptHistory:
    """What was sent or put aside, and where the walk through it stands.

    The file is read when the walk begins, not before: the first screen does not wait for it.
    Without a path nothing is written down. A file that cannot be used is logged and left alone.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._entries: list[str] = []
        self._loaded = path is None
        self._others_end: int | None = None
        self._index: int | None = None
        self._edited: dict[int, str] = {}
        self._kept: int | None = None
        """Number of entries before those of a private chat; None if the chat is not private."""

    def keep(self, is_kept: bool) -> None:
        """Keep what is added from now on, or only until it is kept again."""
        if not is_kept:
            self._load()
            self._kept = len(self._entries)
        elif self._kept is not None:
            del self._entries[self._kept :]
            self._kept = None
        self._index = None
        self._edited.clear()

    def add(self, draft: str, sent: str | None = None) -> None:
        """Remember a draft and save what was sent of it; the walk ends."""
        self._index = None
        self._edited.clear()
        if draft.strip() and not (self._entries and self._entries[-1] == draft):
            self._entries.append(draft)
        if sent is not None and self._kept is None:
            self._write(sent)

    def recent(self, most: int) -> Sequence[str]:
        """Return the newest entries, the oldest of them first."""
        self._load()
        return self._entries[-most:]

    def previous(self, current: str) -> str | None:
        """Return the entry before, or None at the oldest; `current` is the text of the input."""
        self._load()
        index = len(self._entries) if self._index is None else self._index
        return self._step(current, index, index - 1)

    def next(self, current: str) -> str | None:
        """Return the entry after; the last one is the draft the walk began with."""
        if self._index is None:
            return None
        return self._step(current, self._index, self._index + 1)

    def _step(self, current: str, index: int, target: int) -> str | None:
        if not 0 <= target <= len(self._entries):
            return None
        self._edited[index] = current
        self._index = target
        if target in self._edited:
            return self._edited[target]
        return self._entries[target] if target < len(self._entries) else ""

    def _load(self) -> None:
        if self._loaded or self._path is None:
            return
        self._loaded = True
        try:
            lines = _read_lines(self._path, self._others_end)
            entries = [text for text in map(_entry, lines) if text is not None][-MAX_ENTRIES:]
            if len(lines) > 2 * MAX_ENTRIES and self._others_end is None:
                write_private(self._path, b"".join(map(_line, entries)), lasting=False)
            self._entries[:0] = entries
        except OSError as error:
            why = why_unreadable(error)
            _log.warning("The prompt history %s cannot be read: %s", self._path, why)

    def _write(self, text: str) -> None:
        if self._path is None or not text.strip() or len(text) > MAX_ENTRY_CHARACTERS:
            return
        try:
            private_folder(self._path.parent)
            end = _append(self._path, _line(text))
            # What this run adds is remembered already, so it is not read again.
            self._others_end = end if self._others_end is None else self._others_end
        except OSError as error:
            why = why_unreadable(error)
            _log.warning("The prompt history %s cannot be written: %s", self._path, why)


def _line(text: str) -> bytes:
    return json.dumps({"text": text}).encode() + b"\n"


def _entry(line: bytes) -> str | None:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = parsed.get("text") if isinstance(parsed, dict) else None
    return text if isinstance(text, str) and text.strip() else None


def _read_lines(path: Path, end: int | None) -> list[bytes]:
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        size = size if end is None else min(end, size)
        skipped = max(0, size - _MAX_READ_BYTES)
        file.seek(skipped)
        lines = file.read(size - skipped).splitlines()
    return lines[1:] if skipped else lines


def _append(path: Path, line: bytes) -> int:
    """Append a line and return the file's size before it."""
    descriptor = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        size = status.st_size
        # A line cut off by a crash must not take this one with it.
        cut_off = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        # One write each, so that two programs do not mix their lines.
        os.write(descriptor, b"\n" + line if cut_off else line)
        return size
    finally:
        os.close(descriptor)
