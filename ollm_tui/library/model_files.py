"""Model files on disk: the folders they lie in, files that form one model, and unique names."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ollm_tui.library.file_names import SUFFIX, problem_of_parts, shard_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One model: a file, or all the parts of one."""

    stem: str
    """Its file's name without part number and ending; not unique."""
    paths: tuple[Path, ...]
    """All its files; the first is what the engine is given."""
    size: int
    modified_ns: int
    folder: ModelFolder
    way: tuple[str, ...] = ()
    """The folders between `folder` and the file."""
    identity: tuple[int, int] | None = None
    """What the disk knows the first file by; None where it does not tell."""
    problem: str | None = None

    @property
    def path(self) -> Path:
        """Give the file that is opened."""
        return self.paths[0]


def models_in(folder: ModelFolder) -> Iterator[ModelFile]:
    """Give the models of a folder, the upper ones first and older before newer ones.

    Which of two gets a name does so not depend on what was added last. Touches the disk.
    """
    found = [
        file for way, entries in entries_of(folder.path) for file in _group(entries, folder, way)
    ]
    yield from sorted(found, key=lambda file: (bool(file.way), file.modified_ns, file.path))


def _group(
    entries: Iterable[os.DirEntry[str]], folder: ModelFolder, way: tuple[str, ...]
) -> Iterator[ModelFile]:
    """Put the parts of a split model together; everything else is a model of its own."""
    parts: dict[tuple[str, int], dict[int, os.DirEntry[str]]] = {}
    for entry in entries:
        stem = Path(entry.name).stem
        shard = shard_of(stem)
        if shard is None:
            yield _model_file(stem, [entry], folder, way)
        else:
            parts.setdefault((shard.name, shard.count), {})[shard.part] = entry
    for (stem, count), numbered in parts.items():
        missing = problem_of_parts(numbered.keys(), count)
        yield _model_file(stem, [numbered[n] for n in sorted(numbered)], folder, way, missing)


def _model_file(
    stem: str,
    entries: Sequence[os.DirEntry[str]],
    folder: ModelFolder,
    way: tuple[str, ...],
    problem: str | None = None,
) -> ModelFile:
    size = modified = 0
    identity = None
    for number, entry in enumerate(entries):
        try:
            status = Path(entry.path).stat()
        except OSError as error:
            problem = problem or f"{error.strerror or error}"
            continue
        size += status.st_size
        modified = max(modified, status.st_mtime_ns)
        if number == 0 and status.st_ino:
            identity = (status.st_dev, status.st_ino)
    return ModelFile(
        stem=os.fsencode(stem).decode(errors="replace"),
        paths=tuple(Path(entry.path) for entry in entries),
        size=size,
        modified_ns=modified,
        folder=folder,
        way=way,
        identity=identity,
        problem=problem,
    )


_SNAPSHOTS = "snapshots"
_REPOSITORY = "models--"


def named(files: Iterable[ModelFile], before: Mapping[Path, str]) -> dict[str, ModelFile]:
    """Give each file a name: what it had `before`, else its own if that is free.

    The second of two alike gets its folder's in front: `owner--repository/name`. A file that is
    reached in two ways counts once.
    """
    kept: dict[str, ModelFile] = {}
    new: list[ModelFile] = []
    for file in _once(files):
        name = before.get(file.path)
        if name is None or name in kept:
            new.append(file)
        else:
            kept[name] = file
    for file in new:
        name = next(name for name in _candidates(file) if name not in kept)
        kept[name] = file
    return kept


def _once(files: Iterable[ModelFile]) -> Iterator[ModelFile]:
    seen = set()
    for file in files:
        if file.identity is None or file.identity not in seen:
            seen.add(file.identity)
            yield file


def _candidates(file: ModelFile) -> Iterator[str]:
    yield file.stem
    way = "/".join(_shown(file.way))
    if way:
        yield f"{way}/{file.stem}"
    place = file.folder.owner or _readable(file.folder.path.name)
    longest = "/".join(part for part in (place, way, file.stem) if part)
    yield longest
    number = 2
    while True:
        yield f"{longest} {number}"
        number += 1


def _shown(way: tuple[str, ...]) -> list[str]:
    """Give the folders of the way as a person knows them; a hub's cache has some of its own."""
    parts = [_readable(part) for part in way]
    if _SNAPSHOTS in parts:
        at = parts.index(_SNAPSHOTS)
        parts = [*parts[:at], *parts[at + 2 :]]
    return [part.removeprefix(_REPOSITORY) for part in parts]


def _readable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")
