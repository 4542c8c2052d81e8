"""Which files commands changed in one chat: named by `/diff`, but not kept, so not taken back."""

import json
import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, get_args

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.shell.folder_changes import Change, FolderChanges

FILE_NAME: Final = "commands"
"""Not one of the names of changes, which are numbers."""
MAX_NOTES: Final = 200
_MAX_BYTES: Final = 4_000_000
_JOINED: Final[Mapping[tuple[Change, Change], Change | None]] = {
    ("new", "deleted"): None,
    ("new", "changed"): "new",
    ("deleted", "new"): "changed",
}
"""What two changes of one file are together; else it is the later one."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Note:
    call_id: str
    changes: FolderChanges


class CommandNotes:
    """Keeps what changed while each command ran, in a private folder or in memory; it blocks."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._notes: list[_Note] | None = None
        self._lock = threading.Lock()

    def add(self, call_id: str, changes: FolderChanges) -> None:
        """Note what changed while the command of a call ran."""
        if changes.is_whole and not changes.files:
            return
        with self._lock:
            notes = self._loaded()
            notes.append(_Note(call_id, changes))
            del notes[:-MAX_NOTES]
            self._write(notes)

    def merged(self) -> FolderChanges:
        """Return what all commands changed."""
        files: dict[str, Change] = {}
        with self._lock:
            notes = [*self._loaded()]
        for note in notes:
            for name, change in note.changes.files.items():
                before = files.pop(name, None)
                joined = _JOINED.get((before, change), change) if before else change
                if joined is not None:
                    files[name] = joined
        return FolderChanges(files, is_whole=all(note.changes.is_whole for note in notes))

    def copy_to(self, folder: Path, call_ids: Collection[str]) -> None:
        """Write the notes of some calls for another chat."""
        with self._lock:
            notes = [note for note in self._loaded() if note.call_id in call_ids]
        if notes:
            CommandNotes(folder)._write(notes)

    def _loaded(self) -> list[_Note]:
        if self._notes is None:
            self._notes = [] if self._folder is None else _read(self._folder / FILE_NAME)
        return self._notes

    def _write(self, notes: Sequence[_Note]) -> None:
        if self._folder is None:
            return
        listed = [
            {"call": one.call_id, "files": one.changes.files, "is_whole": one.changes.is_whole}
            for one in notes
        ]
        with suppress(OSError):  # the command ran; `/diff` lacks it after a restart
            write_private(self._folder / FILE_NAME, json.dumps(listed).encode())


def _read(file: Path) -> list[_Note]:
    try:
        return [_note(one) for one in json.loads(read_bounded(file, _MAX_BYTES))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        logger.warning("What commands changed cannot be read.")
        return []


def _note(data: Mapping[str, object]) -> _Note:
    files = data["files"]
    if not isinstance(files, dict):
        raise TypeError("no files")
    known = {str(name): change for name, what in files.items() for change in _changes(what)}
    return _Note(str(data["call"]), FolderChanges(known, is_whole=data["is_whole"] is True))


def _changes(what: object) -> list[Change]:
    return [change for change in get_args(Change) if change == what]
