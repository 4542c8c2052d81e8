"""Names for model files: unique, and the same as long as a file stays."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ollm_tui.library.model_file import ModelFile

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
