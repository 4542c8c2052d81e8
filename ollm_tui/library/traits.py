"""What a header tells about the model behind it: abilities and facts for a person."""

from ollm_tui.library.gguf import GGUFHeader
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability

_TEXT = frozenset({"text"})
_THINKING_MARKS = ("<think>", "reasoning_content", "enable_thinking", "<|channel|>analysis")


def capability_of(header: GGUFHeader) -> ModelCapability:
    """Tell chat models from embedding models, and read features off the chat template."""
    if "bert" in header.architecture:
        return ModelCapability(_TEXT, frozenset({"embedding"}))
    features = {"stream", "json_mode"}
    template = header.chat_template
    if template is not None:
        features |= {"multi_turn", "system_prompt"}
        if "tools" in template:
            features.add("tool_use")
        if any(mark in template for mark in _THINKING_MARKS):
            features.add("thinking")
    return ModelCapability(_TEXT, _TEXT, frozenset(features))


def facts_of(header: GGUFHeader) -> JsonObject:
    """Give the details that screens show, without those that are unknown."""
    facts: JsonObject = {
        "format": "gguf",
        "family": header.architecture,
        "title": header.name,
        "quantization": header.quantization,
        "context_trained": header.context_trained,
        # The first part of a split model counts its own tensors only.
        "parameter_size": _short(header.parameters) if header.shards == 1 else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _short(count: int) -> str | None:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return None
