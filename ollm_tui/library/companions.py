"""Files that a model is loaded with: its projector, LoRA adapters and a draft model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.library.file_names import model_name
from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF, GGUFHeader
from ollm_tui.library.traits import is_part_of_another, kind_of, unusable_reason
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import Modality
from ollm_tui.protocol.ports import Companion

_WHAT: Final[Mapping[Companion, str]] = {
    "projector": "image encoder (mmproj file)",
    "lora": "LoRA adapter",
    "draft_model": "language model",
}
_PRECISIONS: Final = ("f16", "bf16", "q8", "f32")
"""Which of several alike projectors is taken, the first before the others."""
_WORDS: Final = lazy_re(r"[^a-z0-9.]+|\.(?![0-9])|(?<![0-9])\.")
_GENERAL: Final = frozenset({"", "mmproj", "model", "ggml", "gguf", "vision", "fp16", "fp32"})
_QUANTIZATION: Final = lazy_re(r"(i?q[0-9]|k|[sml]|xs|xxs|nl|[01]|bf16|f16|f32|ud|mxfp4)")
"""A word of a quantization's name: `Q4_K_M` is q4, k and m."""


@dataclass(frozen=True, slots=True)
class GGUFFile:
    """A file with its header."""

    path: Path
    header: GGUFHeader


def projector_for(model: GGUFFile, projectors: Sequence[GGUFFile]) -> GGUFFile | None:
    """Return which projector of its folder belongs to a model; None if none does.

    The width of its rows must be the model's, as far as the files say, and its name must be
    general, as `mmproj-F16.gguf`, or that of the model.
    """
    if kind_of(model.header) is not None or "bert" in model.header.architecture:
        return None
    name = _words(model.path)
    ranked = []
    for projector in projectors:
        own = _words(projector.path)
        if _fits(projector.header, model.header) and (own <= name or (name and name <= own)):
            ranked.append((-len(own & name), _precision(projector.path), projector))
    return min(ranked, key=lambda one: (*one[:2], one[2].path.name))[2] if ranked else None


def modalities_of(projector: GGUFHeader) -> frozenset[Modality]:
    """Return what a model takes besides text with this projector."""
    sees, hears = projector.has_vision_encoder, projector.has_audio_encoder
    if sees is None and not hears:
        sees = 1
    return frozenset({"image"} if sees else ()) | frozenset({"audio"} if hears else ())


def check_companion(path: Path, kind: Companion, model: Path, name: str) -> None:
    """Check that a file can be used with a model; reads both headers.

    Raises:
        AIError: it is missing, no GGUF file, of another kind, or of another model.
    """
    header = _header(path, kind)
    is_right = {
        "projector": is_part_of_another(header),
        "lora": header.kind == "adapter",
        "draft_model": not is_part_of_another(header)
        and unusable_reason(header) is None
        and kind_of(header) is None,
    }[kind]
    if not is_right:
        raise _unusable(path, kind, f"is no {_WHAT[kind]}")
    try:
        of = read_header(model)
    except (BadGGUF, OSError):  # loading the model tells more
        return
    mismatch = _mismatch(header, kind, of)
    if mismatch is not None:
        raise _unusable(path, kind, f"does not fit {name}: {mismatch}")


def _header(path: Path, kind: Companion) -> GGUFHeader:
    try:
        return read_header(path)
    except BadGGUF as bad:
        raise _unusable(path, kind, f"is not a usable GGUF file: {bad.reason}") from bad
    except FileNotFoundError:
        raise _unusable(path, kind, "does not exist") from None
    except OSError as error:
        raise _unusable(path, kind, f"cannot be read: {why_unreadable(error)}") from error


def _unusable(path: Path, kind: Companion, why: str) -> AIError:
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{path} {why}.",
        hint=f"Change or remove `{kind}` of this model below [models] in the settings.",
    )


def _mismatch(header: GGUFHeader, kind: Companion, model: GGUFHeader) -> str | None:
    """Return how a file differs from what the model needs; None as far as the files say."""
    match kind:
        case "projector" if not _fits(header, model):
            return (
                f"its rows have {header.projection_dim} numbers, and those of the model "
                f"{model.embedding_length}"
            )
        case "lora" if header.architecture != model.architecture:
            return f"it is for {header.architecture}, and the model is {model.architecture}"
        case "draft_model":
            theirs, ours = _vocabulary(header), _vocabulary(model)
            if theirs != ours:
                return f"its vocabulary is {theirs}, and that of the model {ours}"
    return None


def _vocabulary(header: GGUFHeader) -> str:
    return "/".join(part for part in (header.tokenizer, header.tokenizer_kind) if part)


def _fits(projector: GGUFHeader, model: GGUFHeader) -> bool:
    """Whether rows of the projector are as wide as the model's, or hold several of them."""
    width, rows = model.embedding_length, projector.projection_dim
    return not width or not rows or rows % width == 0


def _words(path: Path) -> frozenset[str]:
    """Return the words of a file's name that tell models apart."""
    return frozenset(
        word
        for word in _all_words(path)
        if word not in _GENERAL and not _QUANTIZATION.fullmatch(word)
    )


def _all_words(path: Path) -> Sequence[str]:
    return _WORDS.split(model_name(path).lower())


def _precision(path: Path) -> int:
    words = _all_words(path)
    return next((n for n, one in enumerate(_PRECISIONS) if one in words), len(_PRECISIONS))
