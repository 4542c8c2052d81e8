"""Folders with model files: whose they are, and what lies in them at any depth."""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ollm_tui.library.gguf_tables import SUFFIX

WHISPER_PREFIX, WHISPER_SUFFIX = "ggml-", ".bin"
DEPTH_LIMIT = 8
FOLDER_LIMIT = 2000
ENTRY_LIMIT = 50_000
_SKIPPED = frozenset({"blobs", "refs"})
"""Of the Hugging Face cache: files under their sums, and names of commits."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder that is searched for model files."""

    path: Path
    owner: str | None = None
    """The program whose folder it is: `LM Studio`, ...; None for one that a person named."""
    is_own: bool = False
    """Whether it is the app's own, so that files in it may be deleted."""

    @property
    def title(self) -> str:
        """Name it for a person."""
        return self.owner or str(self.path)

    @property
    def why_kept(self) -> str | None:
        """Tell why files in it are not deleted; None where they may be."""
        if self.is_own:
            return None
        if self.owner is not None:
            return f"It belongs to {self.owner}; delete it there."
        return f"It is in {self.path}, which the app only reads; delete it there."


def entries_of(folder: Path) -> Iterator[tuple[tuple[str, ...], list[os.DirEntry[str]]]]:
    """Give the model files of each folder within, the upper ones first, with the way to it.

    Links to folders are followed once; hidden folders are left out. Touches the disk.
    """
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[tuple[str, ...], Path]] = [((), folder)]
    left = ENTRY_LIMIT
    while waiting and left > 0:
        way, place = waiting.pop(0)
        if len(seen) >= FOLDER_LIMIT or _is_known(place, seen):
            continue
        entries = _entries(place, left)
        left -= len(entries)
        files = [entry for entry in entries if _is_candidate(entry)]
        if files:
            yield way, files
        if len(way) < DEPTH_LIMIT:
            inner = sorted(entry.name for entry in entries if _is_searched(entry))
            waiting += [((*way, name), place / name) for name in inner]
    if left <= 0 or len(seen) >= FOLDER_LIMIT:
        logger.warning("%s holds too much to be searched whole", folder)


def _is_known(folder: Path, seen: set[tuple[int, int]]) -> bool:
    """Whether this folder was met before, by another way."""
    try:
        status = folder.stat()
    except OSError:
        return True
    identity = (status.st_dev, status.st_ino)
    is_known = identity in seen and status.st_ino != 0
    seen.add(identity)
    return is_known


def _entries(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(limit), entries, strict=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        logger.warning("cannot list the model folder %s: %s", folder, error)
        return []


def _is_searched(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.name not in _SKIPPED and entry.is_dir()
    except OSError:
        return False


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    is_whisper = name.startswith(WHISPER_PREFIX) and name.endswith(WHISPER_SUFFIX)
    try:
        return (name.endswith(SUFFIX) or is_whisper) and entry.is_file()
    except OSError:
        return False
