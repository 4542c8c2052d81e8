"""GGUF files in folders, as a list of models."""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ollm_tui.library.gguf import BadGGUF, GGUFHeader, read_header
from ollm_tui.library.shards import problem_of, shard_of
from ollm_tui.library.traits import capability_of, facts_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo

SUFFIX = ".gguf"
PROJECTOR = "clip"
"""The architecture of files that hold a picture encoder for another model, and no model."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One model: a file, or all the parts of one."""

    name: str
    path: Path
    """What the engine is given: the file, or the first part."""
    size: int
    modified_ns: int
    problem: str | None = None


class FolderLibrary:
    """The GGUF files of some folders; the first of two with one name counts.

    Files are read again only when their size or time has changed. A file that cannot be used is
    listed with the reason in `details["problem"]` and no capability.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._seen: Mapping[ModelFile, ModelInfo | None] = {}

    def models(self) -> Sequence[ModelInfo]:
        """Give every model found, by name; touches the disk."""
        files = self._files().values()
        self._seen = {
            file: self._seen[file] if file in self._seen else _describe(file) for file in files
        }
        found = [info for info in self._seen.values() if info is not None]
        return sorted(found, key=lambda info: info.name.casefold())

    def path_of(self, name: str) -> Path:
        """Give the file of a model.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        file = self._files().get(name)
        if file is None:
            places = ", ".join(str(folder) for folder in self._folders) or "no folder"
            raise AIError(
                ErrorCode.MODEL_NOT_FOUND,
                f"There is no model file {name}{SUFFIX} in {places}.",
                hint="Choose another model, or put the file there.",
            )
        return file.path

    def _files(self) -> dict[str, ModelFile]:
        files: dict[str, ModelFile] = {}
        for folder in self._folders:
            for file in _group(_entries(folder)):
                files.setdefault(file.name, file)
        return files


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if _is_candidate(entry)]
    except FileNotFoundError:
        return []
    except OSError as error:
        logger.warning("cannot list the model folder %s: %s", folder, error)
        return []


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.name.lower().endswith(SUFFIX) and entry.is_file()
    except OSError:
        return False


def _group(entries: Iterable[os.DirEntry[str]]) -> Iterator[ModelFile]:
    """Put the parts of a split model together; everything else is a model of its own."""
    parts: dict[tuple[str, int], dict[int, os.DirEntry[str]]] = {}
    for entry in entries:
        stem = entry.name[: -len(SUFFIX)]
        shard = shard_of(stem)
        if shard is None:
            yield _model_file(stem, [entry])
        else:
            parts.setdefault((shard.name, shard.count), {})[shard.part] = entry
    for (stem, count), numbered in parts.items():
        problem = problem_of(numbered.keys(), count)
        yield _model_file(stem, [numbered[n] for n in sorted(numbered)], problem)


def _model_file(
    stem: str, entries: Sequence[os.DirEntry[str]], problem: str | None = None
) -> ModelFile:
    size = modified = 0
    for entry in entries:
        try:
            status = entry.stat()
        except OSError as error:
            problem = problem or f"{error.strerror or error}"
            continue
        size += status.st_size
        modified = max(modified, status.st_mtime_ns)
    name = os.fsencode(stem).decode(errors="replace")
    return ModelFile(
        name=name, path=Path(entries[0].path), size=size, modified_ns=modified, problem=problem
    )


def _describe(file: ModelFile) -> ModelInfo | None:
    """Read the file's header; None for a file that is part of another model."""
    if file.problem is not None:
        return _info(file, None, {"problem": file.problem})
    try:
        header = read_header(file.path)
    except BadGGUF as bad:
        return _info(file, None, {"problem": bad.reason})
    except OSError as error:
        return _info(file, None, {"problem": f"it cannot be read ({error.strerror or error})"})
    return None if header.architecture == PROJECTOR else _info(file, header, facts_of(header))


def _info(
    file: ModelFile, header: GGUFHeader | None, details: Mapping[str, JsonValue]
) -> ModelInfo:
    modified = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return ModelInfo(
        name=file.name,
        size_bytes=file.size,
        modified_at=modified.isoformat(timespec="seconds"),
        capability=ModelCapability() if header is None else capability_of(header),
        details=details,
    )
