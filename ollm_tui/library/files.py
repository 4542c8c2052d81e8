"""Model files in folders, as a list of models."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ollm_tui.config.regular_file import open_binary, why_unreadable
from ollm_tui.library.gguf import BadGGUF, GGUFHeader, read_header
from ollm_tui.library.gguf_tables import SUFFIX
from ollm_tui.library.model_file import ModelFile, models_in
from ollm_tui.library.model_folders import WHISPER_SUFFIX, ModelFolder
from ollm_tui.library.model_names import named
from ollm_tui.library.provenance import provenance_facts
from ollm_tui.library.removal import check_removal, remove
from ollm_tui.library.traits import (
    WHISPER,
    all_facts_of,
    capability_of,
    facts_of,
    is_part_of_another,
    problem_of,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo

WHISPER_MAGIC = b"lmgg"


class FolderLibrary:
    """The model files of some folders, at any depth, each under a name of its own.

    Files are read again only when their size or time has changed. A file that cannot be used is
    listed with the reason in `details["problem"]` and no capability.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        own: Path | None = None,
        others: Sequence[ModelFolder] = (),
    ) -> None:
        """`own` is the one of `folders` from which files may be deleted."""
        self._folders = (
            *(ModelFolder(path=folder, is_own=folder == own) for folder in folders),
            *others,
        )
        self._seen: Mapping[tuple[str, ModelFile], ModelInfo | None] = {}
        self._names: Mapping[Path, str] = {}

    def models(self) -> Sequence[ModelInfo]:
        """Give every model found, by name; touches the disk."""
        files = self._files()
        known = self._seen
        self._seen = {
            item: known[item] if item in known else _describe(*item) for item in files.items()
        }
        found = [info for info in self._seen.values() if info is not None]
        return sorted(found, key=lambda info: info.name.casefold())

    def path_of(self, name: str) -> Path:
        """Give the file of a model.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        return self._file(name).path

    def name_of(self, path: Path) -> str | None:
        """Give what the model is called whose first file this is; None when it is not listed."""
        self._files()
        return self._names.get(path)

    def facts(self, name: str) -> JsonObject:
        """Give all that the file says of its model, and where it is from; reads the header.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        file = self._file(name)
        facts: JsonObject = {**provenance_facts(file.path), "file_sizes": _sizes(file)}
        try:
            header = read_header(file.path) if _is_gguf(file) else None
        except (BadGGUF, OSError):  # the list has the reason
            return facts
        return {**(all_facts_of(header) if header else {}), **facts}

    def check_delete(self, name: str) -> None:
        """Do nothing for a model that may be deleted.

        Raises:
            AIError: MODEL_NOT_FOUND, or it is kept, for the reason given.
        """
        check_removal(name, self._file(name))

    def delete(self, name: str) -> None:
        """Remove the files of a model for good, with what lies beside them.

        Raises:
            AIError: as `check_delete`, or a file could not be removed.
        """
        remove(name, self._file(name))

    def _file(self, name: str) -> ModelFile:
        file = self._files().get(name)
        if file is None:
            places = ", ".join(str(folder.path) for folder in self._folders) or "no folder"
            raise AIError(
                ErrorCode.MODEL_NOT_FOUND,
                f"There is no model file {name}{SUFFIX} in {places}.",
                hint="Choose another model, or put the file there.",
            )
        return file

    def _files(self) -> dict[str, ModelFile]:
        found = [file for folder in self._folders for file in models_in(folder)]
        files = named(found, self._names)
        self._names = {file.path: name for name, file in files.items()}
        return files


def _is_gguf(file: ModelFile) -> bool:
    return not file.path.name.lower().endswith(WHISPER_SUFFIX)


def _sizes(file: ModelFile) -> JsonObject:
    sizes: JsonObject = {}
    for path in file.paths:
        try:
            sizes[path.name] = path.stat().st_size
        except OSError:
            sizes[path.name] = None
    return sizes


def _describe(name: str, file: ModelFile) -> ModelInfo | None:
    """Read the file's header; None for a file that is no model, or part of another."""
    if file.problem is not None:
        return _info(name, file, None, {"problem": file.problem})
    try:
        if not _is_gguf(file):
            return _whisper(name, file)
        header = read_header(file.path)
    except BadGGUF as bad:
        return _info(name, file, None, {"problem": bad.reason})
    except OSError as error:
        reason = f"it cannot be read: {why_unreadable(error)}"
        return _info(name, file, None, {"problem": reason})
    if is_part_of_another(header):
        return None
    problem = problem_of(header)
    facts = facts_of(header) | ({} if problem is None else {"problem": problem})
    return _info(name, file, header, facts)


def _whisper(name: str, file: ModelFile) -> ModelInfo | None:
    with open_binary(file.path) as start:
        if start.read(len(WHISPER_MAGIC)) != WHISPER_MAGIC:
            return None
    capability = ModelCapability(frozenset({"audio"}), frozenset({"text"}))
    return _info(name, file, capability, {"format": "ggml", "kind": WHISPER})


def _info(
    name: str,
    file: ModelFile,
    of: GGUFHeader | ModelCapability | None,
    details: Mapping[str, JsonValue],
) -> ModelInfo:
    modified = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    capability = capability_of(of) if isinstance(of, GGUFHeader) else of
    place: JsonObject = {"folder": file.folder.title, "path": str(file.path)}
    if file.folder.why_kept is not None:
        place["why_kept"] = file.folder.why_kept
    return ModelInfo(
        name=name,
        size_bytes=file.size,
        modified_at=modified.isoformat(timespec="seconds"),
        capability=capability or ModelCapability(),
        details={**details, **place},
    )
