"""Groups the files of a repository into variants.

Names are the uploader's: they may be invalid as file names, and repeated.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.library.file_names import (
    DESCRIPTION_ENDING,
    SUFFIX,
    VOICE_SUFFIX,
    Shard,
    is_picture_file,
    problem_of_parts,
    shard_of,
)
from ollm_tui.library.hub.repo import FileKind, HubFile, HubRepo, Variant
from ollm_tui.library.quantization import DYNAMIC, quality_rank, quantization_of

OTHER_SUFFIXES = frozenset(
    {".bin", ".safetensors", ".sft", ".onnx", ".pt", ".pth", ".ckpt", ".tflite", ".llamafile"}
)
_PROJECTOR = lazy_re(r"(^|[^a-z])mmproj([^a-z]|$)", re.IGNORECASE)
_WHISPER = lazy_re(
    r"(for-tests-)?ggml-(tiny|base|small|medium|large|turbo|distil)([^a-z]|$)", re.IGNORECASE
)
_PART = lazy_re(r"(?:^|[^a-z0-9])(vae|ae|clip[_-]?l|clip[_-]?g|t5[_-]?xxl|qwen[_-]?[23])(?![a-z])")
"""The parts of models that draw, by words of their names."""
_ADAPTER = lazy_re(
    r"(^|[^a-z])(lora|lycoris|controlnet|control|ipadapter)([^a-z]|$)", re.IGNORECASE
)
_IMPORTANCES = lazy_re(r"(^|[^a-z])imatrix([^a-z].*)?$", re.IGNORECASE)
"""A file of measurements used for quantizing."""
_ORDER: Mapping[FileKind, int] = {
    "model": 0,
    "drawing": 1,
    "projector": 2,
    "whisper": 3,
    "voice": 4,
    "part": 5,
    "other": 6,
}
_PROJECTORS = ("F16", "BF16", "Q8_0", "F32")
"""Image encoders by preference."""
_UNUSABLE = lazy_re(r"[\x00-\x1f\x7f\\:]")
_MAX_PART_LENGTH = 255
_ALONE = -1
"""The count of a file that is no part."""
_Parts: TypeAlias = dict[int, list[HubFile]]


@dataclass(frozen=True, slots=True)
class _Set:
    """Files that belong together by name."""

    folder: str
    name: str
    suffix: str
    count: int

    @property
    def label(self) -> tuple[str, str, str]:
        """Shared with sets of the same name and another count."""
        return self.folder, self.name, self.suffix

    def is_whole(self, parts: _Parts) -> bool:
        return self.count != _ALONE and problem_of_parts(parts.keys(), self.count) is None


def projector_of(repo: HubRepo | None) -> Variant | None:
    """Return the image encoder to download with a model, or None if there is none."""
    variants = repo.variants if repo is not None else ()
    projectors = [one for one in variants if one.kind == "projector" and one.problem is None]
    for wish in _PROJECTORS:
        for one in projectors:
            if (one.quantization or "").upper() == wish:
                return one
    return projectors[0] if projectors else None


def variants_of(
    files: Iterable[HubFile], *, speech: bool = False, drawing: bool = False
) -> tuple[Variant, ...]:
    """Return the variants, models first, then by quality.

    In a repository about `speech`, a `ggml-….bin` is a whisper model; in one about `drawing`,
    checkpoints are models, each with the parts of the repository. A voice is one with its
    description.
    """
    sets: dict[_Set, _Parts] = {}
    descriptions: dict[str, HubFile] = {}
    for file in files:
        if file.path.lower().endswith(f"{VOICE_SUFFIX}{DESCRIPTION_ENDING}"):
            descriptions.setdefault(file.path, file)
        folder, _, name = file.path.rpartition("/")
        stem, dot, ending = name.rpartition(".")
        suffix = f"{dot}{ending}".lower()
        if stem and (suffix == SUFFIX or suffix in OTHER_SUFFIXES):
            shard = shard_of(stem) or Shard(stem, 1, _ALONE)
            parts = sets.setdefault(_Set(folder, shard.name, suffix, shard.count), {})
            parts.setdefault(shard.part, []).append(file)

    def with_it(parts: _Parts) -> list[HubFile]:
        """Return the description of a voice."""
        names = (f"{file.path}{DESCRIPTION_ENDING}" for one in parts.values() for file in one)
        return [descriptions[name] for name in names if name in descriptions]

    whole = Counter(it.label for it, parts in sets.items() if it.is_whole(parts))
    variants = [
        Variant(
            name=it.name,
            files=(*(file for part in sorted(parts) for file in parts[part]), *with_it(parts)),
            quantization=quantization_of(it.name) or quantization_of(it.folder),
            kind="voice" if with_it(parts) else _kind(it, speech=speech, drawing=drawing),
            problem=next(_problems(it, parts, whole[it.label]), None),
        )
        for it, parts in sets.items()
    ]
    return tuple(sorted(_with_parts(variants) if drawing else variants, key=_sort_key))


def _with_parts(variants: Sequence[Variant]) -> Iterator[Variant]:
    """Yield the variants; to each that draws belongs one file for each part of the repository."""
    parts: dict[str, Variant] = {}
    for one in sorted(variants, key=lambda it: (it.size or 0, it.name)):
        if one.kind == "part" and one.problem is None:
            parts.setdefault(_part_of(one.name) or "", one)
    beside = [file for part in parts.values() for file in part.files]
    for one in variants:
        is_model = one.kind in ("drawing", "model") and one.problem is None
        yield replace(one, files=(*one.files, *beside)) if is_model else one


def _part_of(name: str) -> str | None:
    """Return what part of a model that draws a file is, by its name."""
    match = _PART.search(name.lower())
    return match[1].replace("_", "").replace("-", "") if match else None


def _problems(it: _Set, parts: _Parts, whole_sets: int) -> Iterator[str]:
    if not all(is_usable_path(file.path) for files in parts.values() for file in files):
        yield "its name is none that a file can have here"
    if it.count != _ALONE and (missing := problem_of_parts(parts.keys(), it.count)) is not None:
        yield missing
    repeated = next((part for part in sorted(parts) if len(parts[part]) > 1), None)
    if repeated is not None:
        which = "it" if it.count == _ALONE else f"part {repeated} of {it.count}"
        yield f"{which} is listed more than once"
    if whole_sets > 1:
        yield "its parts disagree on how many there are"


def matching(
    variants: Iterable[Variant], *, path: str | None = None, quantization: str | None = None
) -> tuple[Variant, ...]:
    """Return the variants with a file, or of a quantization.

    `Q4_K_XL` also matches `UD-Q4_K_XL` if there is no plain one.
    """
    if path is not None:
        return tuple(it for it in variants if any(file.path == path for file in it.files))
    if quantization is None:
        return tuple(variants)
    wanted = quantization.upper()
    named = [(it, (it.quantization or "").upper()) for it in variants]
    exact = tuple(it for it, name in named if name == wanted)
    return exact or tuple(it for it, name in named if name == f"{DYNAMIC}{wanted}")


def is_usable_path(path: str) -> bool:
    """Whether each part of a path can be a file name, and none leads out of its folder."""
    parts = path.split("/")
    return (
        not _UNUSABLE.search(path)
        and path.isprintable()
        and all(part.strip() and part not in (".", "..") for part in parts)
        and all(len(part.encode("utf-8", "replace")) <= _MAX_PART_LENGTH for part in parts)
    )


def _kind(it: _Set, *, speech: bool, drawing: bool) -> FileKind:
    if drawing and is_picture_file(f"{it.name}{it.suffix}") and it.count == _ALONE:
        if _ADAPTER.search(it.name):
            return "other"
        return "part" if _part_of(it.name) else "drawing"
    if it.suffix == SUFFIX:
        if _PROJECTOR.search(it.name):
            return "projector"
        measured = _IMPORTANCES.search(it.name) and quantization_of(it.name) is None
        return "other" if measured else "model"
    if it.suffix == ".bin":
        about_speech = speech or "whisper" in f"{it.folder}/{it.name}".lower()
        if _WHISPER.match(it.name) or (about_speech and it.name.lower().startswith("ggml")):
            return "whisper"
    return "other"


def _sort_key(variant: Variant) -> tuple[int, int, int, str, str]:
    return (
        _ORDER[variant.kind],
        quality_rank(variant.quantization),
        -(variant.size or 0),
        variant.name.casefold(),
        variant.files[0].path,
    )
