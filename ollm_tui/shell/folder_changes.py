"""Which files changed in a folder while a command ran: by size, time and number, within limits."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass

MAX_FILES: Final = 20_000
WITHIN_S: Final = 0.7
"""A folder that takes longer to look through is not compared."""
MAX_NAMED: Final = 200
_LEFT_OUT: Final = frozenset({".git/objects"})
"""Contents that are named by their hash, and many."""

Change: TypeAlias = Literal["new", "changed", "deleted"]
_Mark: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a folder at one time."""

    marks: Mapping[str, _Mark]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """What is different between two snapshots."""

    files: Mapping[str, Change]
    is_whole: bool
    """Whether all files were compared."""


def take_snapshot(folder: Path) -> Snapshot:
    """Look at every file below a folder, following no link; blocks."""
    marks: dict[str, _Mark] = {}
    until, open_folders = time.monotonic() + WITHIN_S, [""]
    while open_folders:
        below = open_folders.pop()
        try:
            entries = os.scandir(folder / below)
        except OSError:
            continue
        with entries:
            for entry in entries:
                name = f"{below}/{entry.name}" if below else entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if name not in _LEFT_OUT:
                            open_folders.append(name)
                        continue
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                mark = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_mode)
                marks[name] = mark
                if len(marks) >= MAX_FILES or time.monotonic() > until:
                    return Snapshot({}, is_whole=False)
    return Snapshot(marks, is_whole=True)


def changes_between(before: Snapshot, after: Snapshot) -> FolderChanges:
    """Return which files are new, changed or gone."""
    if not (before.is_whole and after.is_whole):
        return FolderChanges({}, is_whole=False)
    files: dict[str, Change] = {}
    for name in sorted({*before.marks, *after.marks}):
        old, new = before.marks.get(name), after.marks.get(name)
        if old != new:
            files[name] = "new" if old is None else "deleted" if new is None else "changed"
    kept = dict([*files.items()][:MAX_NAMED])
    return FolderChanges(kept, is_whole=len(kept) == len(files))
