"""Capabilities of a model, and details for display, from its header."""

from collections.abc import Mapping

from ollm_tui.decode.json_fields import present
from ollm_tui.decode.thinking import mentions_thinking
from ollm_tui.library.gguf_header import GGUFHeader
from ollm_tui.models.checkpoints import IMAGE
from ollm_tui.models.kinds import kind_table
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability

_TEXT = frozenset({"text"})
WHISPER, VOICE = "whisper", "voice"
WITHOUT_WINDOW = frozenset({WHISPER, VOICE, IMAGE})
"""Kinds of models that have no context window."""
EMBEDDING, RERANKER = "embedding", "reranker"
_POOLING_RANK = 4
"""The pooling type of a model that gives a score."""
_MAKES: Mapping[str, ModelCapability] = {
    WHISPER: ModelCapability(frozenset({"audio"}), _TEXT),
    IMAGE: ModelCapability(_TEXT, frozenset({"image"})),
    "video": ModelCapability(_TEXT, frozenset({"video"})),
    "speech": ModelCapability(_TEXT, frozenset({"audio"})),
    VOICE: ModelCapability(_TEXT, frozenset({"audio"}), frozenset({"stream"})),
    EMBEDDING: ModelCapability(_TEXT, frozenset({"embedding"})),
    RERANKER: ModelCapability(_TEXT, frozenset({"score"})),
}
_ADDITIONS: Mapping[str, str] = {
    "adapter": "it is an adapter for another model",
    "imatrix": "it holds measurements for quantizing and no model",
    "vocab": "it is a vocabulary without a model",
}
"""Kinds of files that are no model, as `general.type` names them."""
PROJECTOR = "clip"
"""The architecture of files with a vision encoder for another model."""


def kind_of(header: GGUFHeader) -> str | None:
    """Return the kind of a model that is no language model; else None."""
    table = kind_table()
    if (kind := table.of_architecture(header.architecture)) is not None:
        return kind
    if header.pooling_type:
        return RERANKER if header.pooling_type == _POOLING_RANK else EMBEDDING
    return table.of_title(header.name or "") or table.of_encoder(header.architecture)


def is_part_of_another(header: GGUFHeader) -> bool:
    """Whether a file belongs to a model beside it."""
    return header.architecture == PROJECTOR or header.kind == "mmproj"


def unusable_reason(header: GGUFHeader) -> str | None:
    """Return why a readable file is no model; None if it is one."""
    return _ADDITIONS.get(header.kind or "")


def capability_of_kind(kind: str) -> ModelCapability:
    """Return what a model of a kind that is no language model does."""
    return _MAKES[kind]


def capability_of(header: GGUFHeader) -> ModelCapability:
    """Return a model's capability; features are read from the chat template."""
    kind = kind_of(header)
    if kind is not None:
        return _MAKES[kind]
    if unusable_reason(header) is not None:
        return ModelCapability()
    features = {"stream", "json_mode"}
    template = header.chat_template
    if template is not None:
        features |= {"multi_turn", "system_prompt"}
        if "tools" in template:
            features.add("tool_use")
        if mentions_thinking(template):
            features.add("thinking")
    return ModelCapability(_TEXT, _TEXT, frozenset(features))


def facts_of(header: GGUFHeader) -> JsonObject:
    """Return the known details that screens show."""
    return present(
        {
            "format": "gguf",
            "kind": kind_of(header),
            "family": header.architecture,
            "title": header.name,
            "base_model": header.base_model,
            "quantization": header.quantization,
            "context_trained": header.context_trained,
            # The first part of a split model only counts its own tensors.
            "parameter_size": _short(header.parameters) if header.shards == 1 else None,
        }
    )


def all_facts_of(header: GGUFHeader) -> JsonObject:
    """Return all details in a header."""
    return facts_of(header) | present(
        {
            "licence": header.licence,
            "size_label": header.size_label,
            "parameter_count": header.parameters if header.shards == 1 else None,
            "parts": header.shards if header.shards > 1 else None,
            "layers": header.block_count,
            "embedding_length": header.embedding_length,
            "heads": header.head_count,
            "kv_heads": max(header.head_count_kv) if header.head_count_kv else None,
            "key_length": header.key_length,
            "value_length": header.value_length,
            "sliding_window": header.sliding_window or None,
            "tokenizer": header.tokenizer,
            "tokenizer_kind": header.tokenizer_kind,
            "template": header.chat_template,
        }
    )


def _short(count: int) -> str | None:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return None
