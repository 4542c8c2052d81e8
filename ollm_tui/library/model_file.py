"""A model as files: one, or the numbered parts of one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ollm_tui.library.model_folders import ModelFolder, entries_of
from ollm_tui.library.shards import problem_of, shard_of


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
        missing = problem_of(numbered.keys(), count)
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
