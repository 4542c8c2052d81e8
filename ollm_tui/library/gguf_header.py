"""The tables of the GGUF format, and `GGUFHeader`, the facts in a file about its model."""

import struct
from collections.abc import Mapping

from ollm_tui.dataclass import dataclass
from ollm_tui.models.checkpoints import FAMILIES, Checkpoint

MAGIC = b"GGUF"
VERSIONS = (2, 3)
STRING, ARRAY = 8, 9

FORMATS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
"""The struct format of a single value of each type."""
BLOCKS: Mapping[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
}  # fmt: skip
"""Values and bytes of a block, for the tensor types with a fixed layout."""
FILE_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""Values of `general.file_type`: the quantization of most tensors."""


LAYER_LIMIT = 1024
"""Longest array that is kept, with one value per layer."""
FACT_LIMIT = 4096
"""Longest text that is kept, in bytes; a longer one counts as missing."""
TEMPLATE_LIMIT = 1024 * 1024
TEMPLATE_KEY = b"tokenizer.chat_template"
_GENERAL: frozenset[bytes] = frozenset({
    b"general.architecture", b"general.type", b"general.name", b"general.file_type",
    b"general.alignment", b"general.license", b"general.license.name", b"general.size_label",
    b"general.base_model.0.name", b"tokenizer.ggml.model", b"tokenizer.ggml.pre", b"split.count",
    TEMPLATE_KEY,
})  # fmt: skip
_NUMBERS: Mapping[bytes, str] = {
    b"context_length": "context_trained",
    b"block_count": "block_count",
    b"embedding_length": "embedding_length",
    b"attention.head_count": "head_count",
    b"attention.key_length": "key_length",
    b"attention.value_length": "value_length",
    b"attention.key_length_mla": "key_length_mla",
    b"attention.sliding_window": "sliding_window",
    b"full_attention_interval": "full_attention_interval",
    b"pooling_type": "pooling_type",
    b"vision.projection_dim": "projection_dim",
}
"""Keys below the architecture's name, and the fields they fill."""
_FLAGS: Mapping[bytes, str] = {
    b"has_vision_encoder": "has_vision_encoder",
    b"has_audio_encoder": "has_audio_encoder",
}
"""The same for switches."""
_KV_HEADS, _SLIDING_PATTERN = b"attention.head_count_kv", b"attention.sliding_window_pattern"
_OF_ARCHITECTURE = _NUMBERS.keys() | _FLAGS.keys() | {_KV_HEADS, _SLIDING_PATTERN}

Raw = tuple[int, int, bytes]
"""Type (of the items, for an array), number of items (-1 for a single value), and the bytes."""
_BOOL = 7


class BadGGUF(Exception):
    """The file is not a usable GGUF; `reason` completes "not a usable GGUF file: ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class GGUFHeader:
    """The facts about a model that its file has; None for those it lacks."""

    name: str | None
    architecture: str
    quantization: str | None
    context_trained: int | None
    chat_template: str | None
    tokenizer: str | None
    parameters: int
    tensors: int
    size_needed: int
    """Bytes that the file must have to contain its tensors."""
    shards: int
    kind: str | None = None
    """The kind of the file: `model`, `adapter`, `mmproj`, `imatrix`, ..."""
    tokenizer_kind: str | None = None
    """How text is split before the vocabulary is applied: `llama-bpe`, `qwen2`, ..."""
    licence: str | None = None
    size_label: str | None = None
    """`8B`, `135M`, `8x7B`, as the maker wrote it."""
    base_model: str | None = None
    """The name of the model that this one was derived from."""
    block_count: int | None = None
    """Layers."""
    embedding_length: int | None = None
    head_count: int | None = None
    """Of the first layer, where layers differ."""
    head_count_kv: tuple[int, ...] = ()
    """Key/value heads: one number, or one per layer; empty if the file lacks them."""
    key_length: int | None = None
    value_length: int | None = None
    key_length_mla: int | None = None
    """Set for multi-head latent attention, which caches keys and values as one compressed row."""
    sliding_window: int | None = None
    sliding_pattern: tuple[int, ...] = ()
    """One number n: every n-th layer has full attention; or a flag per layer: whether it slides."""
    full_attention_interval: int | None = None
    """One in so many layers has a key/value cache; the others keep a state of fixed size."""
    pooling_type: int | None = None
    """How the output becomes one vector (1 to 3) or score (4); 0 or None for a language model."""
    has_vision_encoder: int | None = None
    """1 or 0, of a projector; old files lack it and see pictures."""
    has_audio_encoder: int | None = None
    projection_dim: int | None = None
    """Width of the rows that a projector gives to its model."""
    checkpoint: Checkpoint | None = None
    """What the file has of a model that draws."""


def is_kept(key: bytes) -> bool:
    """Whether the value of a key is kept; all others are skipped."""
    return key in _GENERAL or key.partition(b".")[2] in _OF_ARCHITECTURE


def text_limit(key: bytes) -> int:
    """Return the longest text that is kept for a key, in bytes."""
    return TEMPLATE_LIMIT if key == TEMPLATE_KEY else FACT_LIMIT


def number(raw: Mapping[bytes, Raw], key: bytes) -> int | None:
    """Return a number, or the first of an array; None if it is missing or negative."""
    values = _numbers(raw, key)
    return values[0] if values and values[0] >= 0 else None


def may_draw(raw: Mapping[bytes, Raw]) -> bool:
    """Whether only the names of its tensors say what the file is."""
    architecture = _text(raw, b"general.architecture")
    return not architecture or architecture in FAMILIES


def make_header(
    raw: Mapping[bytes, Raw],
    *,
    parameters: int,
    tensors: int,
    needed: int,
    checkpoint: Checkpoint | None = None,
) -> GGUFHeader:
    """Make the header; a file of a model that draws may name no architecture.

    Raises:
        BadGGUF: it names no architecture.
    """
    architecture = _text(raw, b"general.architecture")
    if not architecture and checkpoint is not None:
        architecture = checkpoint.family or "part"
    if not architecture:
        raise BadGGUF("it names no architecture")
    file_type = number(raw, b"general.file_type")
    prefix = architecture.encode() + b"."
    return GGUFHeader(
        name=_text(raw, b"general.name"),
        architecture=architecture,
        checkpoint=checkpoint,
        kind=_text(raw, b"general.type"),
        quantization=None if file_type is None else FILE_TYPES.get(file_type),
        chat_template=_text(raw, TEMPLATE_KEY),
        tokenizer=_text(raw, b"tokenizer.ggml.model"),
        tokenizer_kind=_text(raw, b"tokenizer.ggml.pre"),
        licence=_text(raw, b"general.license.name") or _text(raw, b"general.license"),
        size_label=_text(raw, b"general.size_label"),
        base_model=_text(raw, b"general.base_model.0.name"),
        parameters=parameters,
        tensors=tensors,
        size_needed=needed,
        shards=number(raw, b"split.count") or 1,
        **{field: number(raw, prefix + key) for key, field in _NUMBERS.items()},
        **{field: _flag(raw, prefix + key) for key, field in _FLAGS.items()},
        head_count_kv=_numbers(raw, prefix + _KV_HEADS),
        sliding_pattern=_numbers(raw, prefix + _SLIDING_PATTERN),
    )


def _text(raw: Mapping[bytes, Raw], key: bytes) -> str | None:
    kind, _, data = raw.get(key, (-1, -1, b""))
    return data.decode(errors="replace") or None if kind == STRING else None


def _flag(raw: Mapping[bytes, Raw], key: bytes) -> int | None:
    kind, count, data = raw.get(key, (-1, -1, b""))
    return int(data != b"\0") if kind == _BOOL and count < 0 else None


def _numbers(raw: Mapping[bytes, Raw], key: bytes) -> tuple[int, ...]:
    """Return integers or booleans; empty for anything else, or if one is negative."""
    kind, count, data = raw.get(key, (-1, -1, b""))
    if kind not in FORMATS or count == 0 or (kind == _BOOL and count < 0):
        return ()
    values = struct.unpack(f"<{abs(count)}{FORMATS[kind][1]}", data)
    if any(isinstance(value, float) or value < 0 for value in values):
        return ()
    return tuple(map(int, values))
