"""`FolderLibrary`: the model files of some folders as a list of models."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ollm_tui.config.regular_file import real_path, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.library.companions import (
    GGUFFile,
    check_companion,
    modalities_of,
    projector_for,
)
from ollm_tui.library.file_names import SIDECAR_ENDINGS, SUFFIX, has_picture_suffix, is_voice
from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF, GGUFHeader
from ollm_tui.library.model_files import (
    WHISPER_SUFFIX,
    ModelFile,
    ModelFolder,
    assign_names,
    model_at,
    models_in,
    projectors_beside,
)
from ollm_tui.library.picture_files import (
    BadCheckpointError,
    CheckpointFile,
    llm_checkpoint,
    parts_beside,
    read_checkpoint,
    with_parts,
)
from ollm_tui.library.provenance import provenance_facts
from ollm_tui.library.sound_files import description_of, voice_facts, whisper_facts
from ollm_tui.library.traits import (
    all_facts_of,
    capability_of,
    capability_of_kind,
    facts_of,
    is_part_of_another,
    unusable_reason,
)
from ollm_tui.models.checkpoints import IMAGE, Checkpoint
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import Companion


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
        named: Mapping[str, Path] | None = None,
        projectors: Mapping[str, Path] | None = None,
    ) -> None:
        """Search `folders` and `others`; only in `own`, one of `folders`, files may be deleted.

        `named` are further files by the name of their model, `projectors` image encoders by that
        of the model they are used with.
        """
        self._folders = (
            *(ModelFolder(path=folder, is_own=folder == own) for folder in folders),
            *others,
        )
        self._named = named or {}
        self._projectors = projectors or {}
        self._seen: Mapping[tuple[str, ModelFile], _Seen] = {}
        self._names: Mapping[Path, str] = {}

    def models(self) -> Sequence[ModelInfo]:
        """Return every model, sorted by name; blocks."""
        files = self._files()
        known = self._seen
        self._seen = {
            item: known[item] if item in known else _describe(*item) for item in files.items()
        }
        projectors, parts = self._paired(), self._parts()
        models = [
            with_parts(seen.info, seen.checkpoint, parts[name])
            if name in parts and seen.checkpoint is not None
            else _with_projector(seen.info, projectors.get(name))
            for (name, _), seen in self._seen.items()
            if seen.info is not None
        ]
        return sorted(models, key=lambda info: info.name.casefold())

    def check_companion(self, path: Path, kind: Companion, name: str) -> None:
        """Check that a file can be used with a model; reads both headers.

        Raises:
            AIError: MODEL_NOT_FOUND, or MODEL_NOT_LOADED with the reason.
        """
        check_companion(path, kind, self.path_of(name), name)

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
        left = [*file.paths, *self._projector_of_only(name), *self._parts_of_only(name)]
        left += [description_of(path) for path in file.paths if is_voice(path)]
        emptied = {path.parent for path in left}
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
        for folder in emptied:
            _remove_empty(folder, file.folder.path)

    def _paired(self) -> dict[str, GGUFFile]:
        """Return the projector of each model that has one, set by the user or beside its file."""
        beside: dict[Path, list[GGUFFile]] = {}
        for (_, file), seen in self._seen.items():
            if seen.info is None and seen.header is not None:
                read = GGUFFile(file.path, seen.header)
                beside.setdefault(file.path.parent, []).append(read)
        pairs: dict[str, GGUFFile] = {}
        for (name, file), seen in self._seen.items():
            if seen.info is None or seen.header is None or "problem" in seen.info.details:
                continue
            chosen = self._projectors.get(name)
            projector = (
                _read_projector(chosen)
                if chosen
                else projector_for(
                    GGUFFile(file.path, seen.header), beside.get(file.path.parent, ())
                )
            )
            if projector is not None:
                pairs[name] = projector
        return pairs

    def _parts(self) -> dict[str, dict[str, Path]]:
        """Return the files beside each model that draws which it is loaded with."""
        beside: dict[Path, list[CheckpointFile]] = {}
        drawing: dict[str, tuple[Path, CheckpointFile]] = {}
        for (name, file), seen in self._seen.items():
            architecture = seen.header.architecture if seen.header is not None else None
            read = CheckpointFile(file.path, seen.checkpoint or llm_checkpoint(), architecture)
            if seen.checkpoint is not None or seen.header is not None:
                beside.setdefault(_download_of(file), []).append(read)
            if seen.info is not None and seen.checkpoint is not None:
                drawing[name] = _download_of(file), read
        return {name: parts_beside(read, beside[place]) for name, (place, read) in drawing.items()}

    def _parts_of_only(self, name: str) -> Sequence[Path]:
        """Return the parts that only one model is loaded with, and that are no models."""
        parts = self._parts()
        own = {*parts.pop(name, {}).values()}
        used = {path for others in parts.values() for path in others.values()}
        models = {file.path for (_, file), seen in self._seen.items() if seen.info is not None}
        return [*sorted(own - used - models)]

    def _projector_of_only(self, name: str) -> Sequence[Path]:
        """Return the projector beside a model's file if no other model is loaded with it."""
        self.models()
        pairs = self._paired()
        own = pairs.pop(name, None)
        if own is None or name in self._projectors:
            return ()
        return () if any(other.path == own.path for other in pairs.values()) else (own.path,)

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
        files = [model_at(path, name, self._folder_of(path)) for name, path in self._named.items()]
        files += (file for folder in self._folders for file in models_in(folder))
        for path in self._named.values():
            files += projectors_beside(path, self._folder_of(path))
        # Of weights of both forms, the GGUF file keeps the name.
        files.sort(key=lambda file: has_picture_suffix(file.path))
        named = assign_names(files, self._names)
        self._names = {file.path: name for name, file in named.items()}
        return named

    def _folder_of(self, path: Path) -> ModelFolder:
        known = (folder for folder in self._folders if path.is_relative_to(folder.path))
        return next(known, ModelFolder(path=path.parent))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read of a file: no info if it is no model, no header if it has none."""

    info: ModelInfo | None = None
    header: GGUFHeader | None = None
    checkpoint: Checkpoint | None = None


def _read_projector(path: Path) -> GGUFFile | None:
    """Read a projector that the user named; loading its model tells what is wrong with it."""
    try:
        header = read_header(path)
    except (BadGGUF, OSError):
        return None
    return GGUFFile(path, header) if is_part_of_another(header) else None


def _with_projector(info: ModelInfo, projector: GGUFFile | None) -> ModelInfo:
    """Add what a model can do with its projector, and the size of that."""
    if projector is None or info.capability is None:
        return info
    taken = info.capability.input | modalities_of(projector.header)
    return replace(
        info,
        size_bytes=(info.size_bytes or 0) + projector.header.size_needed,
        capability=replace(info.capability, input=taken),
        details={**info.details, "projector": str(projector.path)},
    )


def _download_of(file: ModelFile) -> Path:
    """Return the folder with all files of a download: they lie in folders of their own there."""
    return file.folder.path.joinpath(*file.subfolders[:1])


def _is_gguf(file: ModelFile) -> bool:
    is_sound = is_voice(file.path) or file.path.name.lower().endswith(WHISPER_SUFFIX)
    return not (is_sound or has_picture_suffix(file.path))


def _sizes(file: ModelFile) -> JsonObject:
    sizes: JsonObject = {}
    for path in file.paths:
        try:
            sizes[path.name] = path.stat().st_size
        except OSError:
            sizes[path.name] = None
    return sizes


def _describe(name: str, file: ModelFile) -> _Seen:
    """Read a file's header; a file that is no model, or belongs to another one, has no info."""
    if file.problem is not None:
        return _Seen(_info(name, file, None, {"problem": file.problem}))
    try:
        if not _is_gguf(file):
            is_picture = has_picture_suffix(file.path)
            return _of_checkpoint(name, file) if is_picture else _Seen(_of_sound(name, file))
        header = read_header(file.path)
    except BadGGUF as bad:
        return _Seen(_info(name, file, None, {"problem": bad.reason}))
    except OSError as error:
        reason = f"it cannot be read: {why_unreadable(error)}"
        return _Seen(_info(name, file, None, {"problem": reason}))
    is_picture_part = header.checkpoint is not None and header.checkpoint.family is None
    if is_picture_part or is_part_of_another(header):
        return _Seen(None, None if is_picture_part else header, header.checkpoint)
    problem = unusable_reason(header)
    facts = facts_of(header) | ({} if problem is None else {"problem": problem})
    return _Seen(_info(name, file, header, facts), header, header.checkpoint)


def _of_checkpoint(name: str, file: ModelFile) -> _Seen:
    """Read what a file has of a model that draws; one that has other weights is no model here."""
    try:
        read = read_checkpoint(file.path)
    except BadCheckpointError as bad:
        return _Seen(_info(name, file, None, {"kind": IMAGE, "problem": str(bad)}))
    if read is None:
        return _Seen()
    checkpoint, facts = read
    if checkpoint.family is None:
        return _Seen(None, None, checkpoint)
    return _Seen(_info(name, file, capability_of_kind(str(facts["kind"])), facts), None, checkpoint)


def _of_sound(name: str, file: ModelFile) -> ModelInfo | None:
    """Read what a model that hears or speaks says about itself; None if it is none."""
    facts = (voice_facts if is_voice(file.path) else whisper_facts)(file.path)
    if facts is None:
        return None
    capability = None if "problem" in facts else capability_of_kind(str(facts["kind"]))
    return _info(name, file, capability, facts)


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
