"""Model files that draw: what they say about themselves, and the files that they need beside them.

Nothing of a file is run: of a checkpoint that is a pickle, only the names in it are read.
"""

import json
import os
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import open_binary
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, present
from ollm_tui.lazy import lazy_re
from ollm_tui.models.checkpoints import (
    FAMILIES,
    LLM,
    T5XXL,
    VIDEO,
    Checkpoint,
    PictureFamily,
    checkpoint_of,
)
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo

HEADER_LIMIT: Final = 32 * 1024 * 1024
MAX_TENSORS: Final = 100_000
_LENGTH: Final = struct.Struct("<Q")
_NAME: Final = lazy_re(rb"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+")
_PICKLE: Final = "/data.pkl"
_KINDS: Final[Mapping[str, str]] = {VIDEO: "video"}


class BadCheckpointError(Exception):
    """A file that is named like a model that draws cannot be used; says why."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """A file with what it has of a model that draws."""

    path: Path
    checkpoint: Checkpoint
    architecture: str | None = None
    """Of a language model, which may read prompts."""


def read_checkpoint(path: Path) -> tuple[Checkpoint, JsonObject] | None:
    """Return what a file has, and the facts about it; None if it does not draw. Blocks.

    Raises:
        BadCheckpointError: it is broken.
        OSError: it cannot be read.
    """
    is_safetensors = not path.name.lower().endswith(".ckpt")
    names, facts = _safetensors(path) if is_safetensors else (_pickled_names(path), {})
    checkpoint = checkpoint_of(names)
    if checkpoint is None:
        return None
    form = "safetensors" if is_safetensors else "ckpt"
    return checkpoint, {"format": form, **facts_of_checkpoint(checkpoint), **facts}


def facts_of_checkpoint(checkpoint: Checkpoint) -> JsonObject:
    """Return what is shown of a model that draws."""
    family = checkpoint.family or ""
    return {"kind": _KINDS.get(family, "image"), "family": family}


def _safetensors(path: Path) -> tuple[Sequence[str], JsonObject]:
    with open_binary(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_LENGTH.size)
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        if not 2 <= length <= HEADER_LIMIT:
            raise BadCheckpointError("it does not begin as a safetensors file")
        text = file.read(length)
    if len(text) < length:
        raise BadCheckpointError("it ends in the middle of its header")
    try:
        tensors = as_object(json.loads(text))
    except (ValueError, RecursionError):
        raise BadCheckpointError("its header is broken") from None
    tensors.pop("__metadata__", None)
    types: Counter[str] = Counter()
    parameters = end = 0
    for value in islice(tensors.values(), MAX_TENSORS):
        tensor = as_object(value)
        shape, offsets = tensor.get("shape"), tensor.get("data_offsets")
        if isinstance(shape, list) and all(isinstance(one, int) and one >= 0 for one in shape):
            values = prod(one for one in shape if isinstance(one, int))
            types[str(tensor.get("dtype"))[:10]] += values
            parameters += values
        if isinstance(offsets, list) and len(offsets) == 2 and isinstance(offsets[1], int):
            end = max(end, offsets[1])
    if _LENGTH.size + length + end > size:
        raise BadCheckpointError("it is cut short")
    most = types.most_common(1)
    facts = {"quantization": most[0][0] if most else None, "parameter_count": parameters or None}
    return [*tensors], present(facts)


def _pickled_names(path: Path) -> Sequence[str]:
    """Return the names in a checkpoint of PyTorch, without running what it says."""
    # Loaded only for a file that is a zip archive.
    import zipfile

    try:
        with open_binary(path) as file, zipfile.ZipFile(file) as archive:
            member = next((it for it in archive.infolist() if it.filename.endswith(_PICKLE)), None)
            if member is None or member.file_size > HEADER_LIMIT:
                raise BadCheckpointError("it holds no weights that can be read")
            with archive.open(member) as pickle:
                text = pickle.read(HEADER_LIMIT)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadCheckpointError("it is broken, or of an old form") from error
    names = dict.fromkeys(match[0].decode() for match in _NAME.finditer(text))
    return [*islice(names, MAX_TENSORS)]


def parts_beside(model: CheckpointFile, beside: Sequence[CheckpointFile]) -> dict[str, Path]:
    """Return the files of its download that a model is loaded with, by what they are for.

    Of several, one of its own folder is taken before others, and one whose name has more in common
    with the model's.
    """
    family = FAMILIES.get(model.checkpoint.family or "")
    if family is None:
        return {}
    wanted = [*model.checkpoint.needs]
    if model.checkpoint.family == "sd3" and T5XXL not in model.checkpoint.parts:
        wanted.append(T5XXL)  # better with it, and it works without
    chosen: dict[str, Path] = {}
    for part in wanted:
        able = [one for one in beside if one.path != model.path and _is_part(one, part, family)]
        if able:
            chosen[part] = min(able, key=lambda one: _likeness(model.path, one.path)).path
    return chosen


def _is_part(file: CheckpointFile, part: str, family: PictureFamily) -> bool:
    if file.checkpoint.family is not None or part not in file.checkpoint.parts:
        return False
    return part != LLM or file.architecture in (None, *family.llm)


def llm_checkpoint() -> Checkpoint:
    """Return what a language model is to those that draw."""
    return Checkpoint(family=None, parts=frozenset({LLM}))


def with_parts(info: ModelInfo, checkpoint: Checkpoint, parts: Mapping[str, Path]) -> ModelInfo:
    """Add which parts a model needs, their files, and the memory for them and for the work."""
    family = FAMILIES.get(checkpoint.family or "")
    if family is None:
        return info
    size = family.working_bytes
    for path in parts.values():
        with suppress(OSError):  # loading the model says it
            size += path.stat().st_size
    files: JsonObject = {part: str(path) for part, path in parts.items()}
    needs: list[JsonValue] = [*checkpoint.needs]
    details = {**info.details, "needs": needs, "part_files": files, "loaded_with_bytes": size}
    kept = {key: value for key, value in details.items() if value}
    return replace(info, details=kept)


def _likeness(model: Path, part: Path) -> tuple[bool, int, str]:
    words, own = (set(re.split(r"[\W_]+", path.stem.lower())) for path in (model, part))
    return part.parent != model.parent, -len(words & own), str(part)
