"""`FolderLibrary`: the model files of some folders as a list of models."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ollm_tui.config.regular_file import open_binary, real_path, why_unreadable
from ollm_tui.library.file_names import SIDECAR_ENDINGS, SUFFIX
from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF, GGUFHeader
from ollm_tui.library.model_files import (
    WHISPER_SUFFIX,
    ModelFile,
    ModelFolder,
    assign_names,
    models_in,
)
from ollm_tui.library.provenance import provenance_facts
from ollm_tui.library.traits import (
    WHISPER,
    all_facts_of,
    capability_of,
    facts_of,
    is_part_of_another,
    unusable_reason,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo

WHISPER_MAGIC = b"lmgg"


class FolderLibrary:
    """The model files of some folders, at any depth, each under a unique name.

    Files are read again only when their size or time has changed. An unusable file is listed with
    the reason in `details["problem"]` and no capability.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        own: Path | None = None,
        others: Sequence[ModelFolder] = (),
    ) -> None:
        """Search `folders` and `others`; only in `own`, one of `folders`, files may be deleted."""
        self._folders = (
            *(ModelFolder(path=folder, is_own=folder == own) for folder in folders),
            *others,
        )
        self._seen: Mapping[tuple[str, ModelFile], ModelInfo | None] = {}
        self._names: Mapping[Path, str] = {}

    def models(self) -> Sequence[ModelInfo]:
        """Return every model, sorted by name; blocks."""
        files = self._files()
        known = self._seen
        self._seen = {
            item: known[item] if item in known else _describe(*item) for item in files.items()
        }
        models = [info for info in self._seen.values() if info is not None]
        return sorted(models, key=lambda info: info.name.casefold())

    def path_of(self, name: str) -> Path:
        """Return the first file of a model.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        return self._file(name).path

    def name_of(self, path: Path) -> str | None:
        """Return the name of the model whose first file this is; None if it is not listed."""
        self._files()
        return self._names.get(path)

    def facts(self, name: str) -> JsonObject:
        """Return all details in a model's header, and its provenance; reads the file.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        file = self._file(name)
        facts: JsonObject = {**provenance_facts(file.path), "file_sizes": _sizes(file)}
        try:
            header = read_header(file.path) if _is_gguf(file) else None
        except (BadGGUF, OSError):  # `models` has the reason
            return facts
        return {**(all_facts_of(header) if header else {}), **facts}

    def check_delete(self, name: str) -> None:
        """Check that a model may be deleted.

        Raises:
            AIError: MODEL_NOT_FOUND, or it may not, with the reason as hint.
        """
        _check_delete(name, self._file(name))

    def delete(self, name: str) -> None:
        """Delete the files of a model and their sidecars, and folders that are empty then.

        Raises:
            AIError: as `check_delete`, or it failed; `details["left"]` names the files still there.
        """
        file = self._file(name)
        _check_delete(name, file)
        left = list(file.paths)
        try:
            # First the part that an engine opens: without it the rest is no model.
            while left:
                left[0].unlink(missing_ok=True)
                for ending in SIDECAR_ENDINGS:
                    left[0].with_name(left[0].name + ending).unlink(missing_ok=True)
                left.pop(0)
        except OSError as error:
            raise AIError(
                ErrorCode.INTERNAL_ERROR,
                f"{name} could not be deleted: {error.strerror or error}.",
                hint=f"Still there: {left[0]}.",
                details={"left": [str(path) for path in left]},
            ) from error
        _remove_empty(file.path.parent, file.folder.path)

    def _file(self, name: str) -> ModelFile:
        file = self._files().get(name)
        if file is None:
            folders = ", ".join(str(folder.path) for folder in self._folders) or "no folder"
            raise AIError(
                ErrorCode.MODEL_NOT_FOUND,
                f"There is no model file {name}{SUFFIX} in {folders}.",
                hint="Choose another model, or put the file there.",
            )
        return file

    def _files(self) -> dict[str, ModelFile]:
        files = [file for folder in self._folders for file in models_in(folder)]
        named = assign_names(files, self._names)
        self._names = {file.path: name for name, file in named.items()}
        return named


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
    """Read a file's header; None for a file that is no model, or belongs to another one."""
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
    problem = unusable_reason(header)
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
    location: JsonObject = {"folder": file.folder.title, "path": str(file.path)}
    if file.folder.why_kept is not None:
        location["why_kept"] = file.folder.why_kept
    return ModelInfo(
        name=name,
        size_bytes=file.size,
        modified_at=modified.isoformat(timespec="seconds"),
        capability=capability or ModelCapability(),
        details={**details, **location},
    )


def _check_delete(name: str, file: ModelFile) -> None:
    reason = file.folder.why_kept or _outside(file)
    if reason is not None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE, f"{name} cannot be deleted from here.", hint=reason
        )


def _outside(file: ModelFile) -> str | None:
    # A file that is a link itself may be deleted, as only the link is.
    own, folder = real_path(file.folder.path), real_path(file.path.parent)
    return None if folder.is_relative_to(own) else f"It is in {folder}; delete it there."


def _remove_empty(folder: Path, top: Path) -> None:
    with contextlib.suppress(OSError):  # it holds something else
        while folder != top and top in folder.parents:
            folder.rmdir()
            folder = folder.parent
