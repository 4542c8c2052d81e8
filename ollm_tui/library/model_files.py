"""Model files on disk: the folders they lie in, files that form one model, and unique names."""

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path

from ollm_tui.config.regular_file import is_file
from ollm_tui.dataclass import dataclass
from ollm_tui.library.file_names import (
    DESCRIPTION_ENDING,
    SUFFIX,
    VOICE_SUFFIX,
    is_picture_file,
    part_stem,
    problem_of_parts,
    shard_of,
)

WHISPER_PREFIX, WHISPER_SUFFIX = "ggml-", ".bin"
PROJECTOR_NAME = "mmproj"
DEPTH_LIMIT = 8
FOLDER_LIMIT = 2000
ENTRY_LIMIT = 50_000
_SKIPPED = frozenset({"blobs", "refs"})
"""Folders of the Hugging Face cache: files named by checksum, and names of commits."""

logger = logging.getLogger(__name__)
_SNAPSHOTS = "snapshots"
_REPOSITORY = "models--"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder that is searched for model files."""

    path: Path
    owner: str | None = None
    """The program it belongs to: `LM Studio`, ...; None for one that the user named."""
    is_own: bool = False
    """Whether it is the app's own folder, in which files may be deleted."""

    @property
    def title(self) -> str:
        """Its name for the user."""
        return self.owner or str(self.path)

    @property
    def why_kept(self) -> str | None:
        """Why files in it are not deleted; None if they may be."""
        if self.is_own:
            return None
        if self.owner is not None:
            return f"It belongs to {self.owner}; delete it there."
        return f"It is in {self.path}, which the app only reads; delete it there."


def entries_of(folder: Path) -> Iterator[tuple[tuple[str, ...], list[os.DirEntry[str]]]]:
    """Yield the model files of each subfolder, upper ones first, with its path as folder names.

    Links to folders are followed once; hidden folders are skipped. Blocks.
    """
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[tuple[str, ...], Path]] = [((), folder)]
    left = ENTRY_LIMIT
    while pending and left > 0:
        subfolders, path = pending.pop(0)
        if len(seen) >= FOLDER_LIMIT or _is_known(path, seen):
            continue
        entries = _entries(path, left)
        left -= len(entries)
        names = {entry.name for entry in entries}
        files = [entry for entry in entries if _is_candidate(entry, names)]
        if files:
            yield subfolders, files
        if len(subfolders) < DEPTH_LIMIT:
            inner = sorted(entry.name for entry in entries if _is_searched(entry))
            pending += [((*subfolders, name), path / name) for name in inner]
    if left <= 0 or len(seen) >= FOLDER_LIMIT:
        logger.warning("%s holds too much to be searched whole", folder)


def _is_known(folder: Path, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder was visited before under another path; remembers it."""
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
            return list(islice(entries, limit))
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


def _is_candidate(entry: os.DirEntry[str], beside: Collection[str] = ()) -> bool:
    """Whether a file is named like a model; a voice has its description `beside` it."""
    name = entry.name.lower()
    is_whisper = name.startswith(WHISPER_PREFIX) and name.endswith(WHISPER_SUFFIX)
    is_voice = name.endswith(VOICE_SUFFIX) and entry.name + DESCRIPTION_ENDING in beside
    is_model = name.endswith(SUFFIX) or is_whisper or is_voice or is_picture_file(entry.name)
    try:
        return is_model and entry.is_file()
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One model: a file, or all the parts of one."""

    stem: str
    """Its file's name without part number and suffix; not unique."""
    paths: tuple[Path, ...]
    """All its files; the engine opens the first."""
    size: int
    modified_ns: int
    folder: ModelFolder
    subfolders: tuple[str, ...] = ()
    """The names of the folders between `folder` and the file."""
    identity: tuple[int, int] | None = None
    """Device and inode of the first file; None if unknown."""
    problem: str | None = None

    @property
    def path(self) -> Path:
        """The file that is opened."""
        return self.paths[0]


def models_in(folder: ModelFolder) -> Iterator[ModelFile]:
    """Yield the models of a folder: upper folders first, then older before newer files.

    So a file that was added last does not take another's name. Blocks.
    """
    files = [
        file
        for subfolders, entries in entries_of(folder.path)
        for file in _group(entries, folder, subfolders)
    ]
    yield from sorted(files, key=lambda file: (bool(file.subfolders), file.modified_ns, file.path))


def _group(
    entries: Iterable[os.DirEntry[str]], folder: ModelFolder, subfolders: tuple[str, ...]
) -> Iterator[ModelFile]:
    """Group the parts of a split model; any other file is a model of its own."""
    parts: dict[tuple[str, int], dict[int, os.DirEntry[str]]] = {}
    for entry in entries:
        stem = Path(entry.name).stem
        shard = shard_of(stem)
        if shard is None:
            yield _model_file(stem, [Path(entry.path)], folder, subfolders)
        else:
            parts.setdefault((shard.name, shard.count), {})[shard.part] = entry
    for (stem, in_all), numbered in parts.items():
        ordered = [Path(numbered[part].path) for part in sorted(numbered)]
        missing = problem_of_parts(numbered.keys(), in_all)
        yield _model_file(stem, ordered, folder, subfolders, missing)


def _model_file(
    stem: str,
    paths: Sequence[Path],
    folder: ModelFolder,
    subfolders: tuple[str, ...],
    problem: str | None = None,
) -> ModelFile:
    size = modified = 0
    identity = None
    for number, path in enumerate(paths):
        try:
            status = path.stat()
        except OSError as error:
            problem = problem or f"{error.strerror or error}"
            continue
        size += status.st_size
        modified = max(modified, status.st_mtime_ns)
        if number == 0 and status.st_ino:
            identity = (status.st_dev, status.st_ino)
    return ModelFile(
        stem=os.fsencode(stem).decode(errors="replace"),
        paths=tuple(paths),
        size=size,
        modified_ns=modified,
        folder=folder,
        subfolders=subfolders,
        identity=identity,
        problem=problem,
    )


def model_at(path: Path, name: str, folder: ModelFolder) -> ModelFile:
    """Return the model of a file, by the name that the user gave it; blocks."""
    shard = shard_of(path.stem)
    if not is_file(path):
        return _model_file(name, [path], folder, (), f"there is no file {path}")
    if shard is None:
        return _model_file(name, [path], folder, ())
    parts = {
        part: path.with_name(part_stem(shard, part) + path.suffix)
        for part in range(1, min(shard.count, ENTRY_LIMIT) + 1)
    }
    there = {part: one for part, one in parts.items() if is_file(one)}
    missing = problem_of_parts(there.keys(), shard.count)
    return _model_file(name, [there[part] for part in sorted(there)], folder, (), missing)


def projectors_beside(path: Path, folder: ModelFolder) -> Iterator[ModelFile]:
    """Yield the files beside a model that are named like image encoders; blocks."""
    entries = [entry for entry in _entries(path.parent, ENTRY_LIMIT) if _is_candidate(entry)]
    named = [entry for entry in entries if PROJECTOR_NAME in entry.name.lower()]
    yield from _group(named, folder, ())


def assign_names(files: Iterable[ModelFile], before: Mapping[Path, str]) -> dict[str, ModelFile]:
    """Return the files by unique name: the one they had `before`, else the file's name if free.

    The second of two equal names is prefixed with its folder: `owner--repository/name`. A file
    that is found under two paths counts once.
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
    path = "/".join(_shown(file.subfolders))
    if path:
        yield f"{path}/{file.stem}"
    root = file.folder.owner or _readable(file.folder.path.name)
    longest = "/".join(part for part in (root, path, file.stem) if part)
    yield longest
    yield from (f"{longest} {number}" for number in count(2))


def _shown(subfolders: tuple[str, ...]) -> list[str]:
    """Return folder names for display, without those of a hub's cache."""
    parts = [_readable(part) for part in subfolders]
    if _SNAPSHOTS in parts:
        at = parts.index(_SNAPSHOTS)
        parts = [*parts[:at], *parts[at + 2 :]]
    return [part.removeprefix(_REPOSITORY) for part in parts]


def _readable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")
