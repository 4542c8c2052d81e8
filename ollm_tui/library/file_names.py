"""Names of model files: kind, parts of a split model, and sidecars."""

import re
from collections.abc import Collection
from pathlib import Path

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

SUFFIX = ".gguf"
"""The suffix of GGUF files, in upper or lower case."""
_SHARD = lazy_re(r"(.+)-([0-9]{5})-of-([0-9]{5})", re.DOTALL)
_GENERAL = lazy_re(
    r"(?:model|pytorch_model|adapter_model|diffusion_pytorch_model|optimizer)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Names of files that are of use only with others of their folder."""
ORIGIN_ENDING = ".origin.json"
SIDECAR_ENDINGS = (".sha256", ORIGIN_ENDING)
PICTURE_SUFFIXES = frozenset({".safetensors", ".sft", ".ckpt"})
"""The suffixes of models that draw, beside GGUF."""
VOICE_SUFFIX, DESCRIPTION_ENDING = ".onnx", ".json"
"""A voice is `NAME.onnx`, with its description in `NAME.onnx.json`."""


def is_gguf(path: Path) -> bool:
    """Whether a file is named as a GGUF file."""
    return path.name.lower().endswith(SUFFIX)


def is_voice(path: Path) -> bool:
    """Whether a file is named as a voice."""
    return path.name.lower().endswith(VOICE_SUFFIX)


def has_picture_suffix(path: Path) -> bool:
    """Whether a file is named as a model that draws may be, other than GGUF."""
    return path.suffix.lower() in PICTURE_SUFFIXES


def is_picture_file(name: str) -> bool:
    """Whether a file that lies in a folder may be a model that draws, or a part of one.

    Parts of a folder that belong together, as transformers has them, are not.
    """
    path = Path(name)
    return (
        has_picture_suffix(path)
        and not _GENERAL.fullmatch(path.stem)
        and shard_of(path.stem) is None
    )


def model_name(path: Path) -> str:
    """Return the name of the model that a file contains all or a part of."""
    stem = path.name[: -len(SUFFIX)] if is_gguf(path) else path.name
    shard = shard_of(stem)
    return shard.name if shard else stem


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a split model, by its name: `name-00001-of-00003`."""

    name: str
    """The model's name."""
    part: int
    """From 1 in a valid name."""
    count: int


def shard_of(stem: str) -> Shard | None:
    """Parse a file's name without its suffix; None if it is no part of a split model."""
    match = _SHARD.fullmatch(stem)
    return Shard(match[1], int(match[2]), int(match[3])) if match else None


def part_stem(shard: Shard, part: int) -> str:
    """Return the name, without suffix, of another part of the same model."""
    return f"{shard.name}-{part:05}-of-{shard.count:05}"


def problem_of_parts(parts: Collection[int], count: int) -> str | None:
    """Return why these parts are no complete model; None if they are."""
    if len(parts) == count and all(part in parts for part in range(1, count + 1)):
        return None
    missing = next((part for part in range(1, count + 1) if part not in parts), None)
    return f"part {missing} of {count} is missing" if missing else "its parts do not fit together"
