"""`/v1/models` of any server as `ModelInfo`; pure.

It tells names; the window stands beside them as `max_model_len` (vLLM), `context_length`
(OpenRouter, Together), `context_window` (Groq), `max_context_length` (Mistral) or
`max_input_tokens` (LiteLLM), if anywhere.
"""

from ollm_tui.decode.json_fields import as_object, objects, positive, string, strings
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo


def read_models(reply: JsonValue) -> list[ModelInfo]:
    """Read `/v1/models`; some services answer with a bare list. What cannot chat is left out."""
    entries = objects(reply) or objects(as_object(reply).get("data"))
    windows = {string(entry, "id"): _window(entry) for entry in entries}
    found = []
    for entry in entries:
        name = string(entry, "id")
        capability = described(entry)
        if name is None or not can_chat(capability):
            continue
        window = _window(entry)
        if window is None:
            window = windows.get(string(entry, "parent"))  # a LoRA has its parent's window
        found.append(
            ModelInfo(
                name=name,
                label=_label(entry),
                capability=capability,
                size_bytes=positive(as_object(entry.get("meta")), "size"),
                context=window,
                details=_meta(entry),
            )
        )
    return found


def _window(entry: JsonObject) -> int | None:
    return (
        positive(entry, "max_model_len")
        or positive(entry, "context_length")
        or positive(entry, "context_window")
        or positive(entry, "max_context_length")
        or positive(entry, "max_input_tokens")
        or positive(as_object(entry.get("meta")), "n_ctx")
    )


def _label(entry: JsonObject) -> str | None:
    return string(entry, "name") or string(entry, "display_name")


def _meta(entry: JsonObject) -> JsonObject:
    meta = as_object(entry.get("meta"))
    found = {
        "context_trained": positive(meta, "n_ctx_train"),
        "parameter_count": positive(meta, "n_params"),
        "quantization": string(meta, "ftype"),
        "owned_by": string(entry, "owned_by"),
        "parent": string(entry, "parent"),
    }
    return {key: value for key, value in found.items() if value is not None}


CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt"})
TEXT = frozenset({"text"})
_MODALITIES = frozenset({"text", "image", "audio", "video"})
_OTHER_TYPES = frozenset(
    {"image", "embedding", "embeddings", "rerank", "audio", "transcribe", "video", "moderation"}
)
"""What Together calls models that do not chat."""


def described(entry: JsonObject) -> ModelCapability | None:
    """Give what a model can do; None when its entry does not say."""
    architecture = as_object(entry.get("architecture"))
    if inputs := strings(architecture.get("input_modalities")):
        outputs = strings(architecture.get("output_modalities")) or ["text"]
        return ModelCapability(
            _MODALITIES.intersection(inputs), frozenset(outputs), _parameters(entry)
        )
    switches = as_object(entry.get("capabilities"))
    if "completion_chat" in switches:
        return _switched(switches)
    if string(entry, "type") in _OTHER_TYPES:
        return ModelCapability(TEXT, frozenset({string(entry, "type") or ""}))
    return None


def can_chat(capability: ModelCapability | None) -> bool:
    """Whether a model may be offered for a chat: only one known to write no text may not."""
    return capability is None or "text" in capability.output


def _parameters(entry: JsonObject) -> frozenset[str]:
    """Read features off the options that a model takes; none when that is not told."""
    if not isinstance(entry.get("supported_parameters"), list):
        return frozenset()
    taken = strings(entry.get("supported_parameters"))
    features = set(CHAT_FEATURES)
    features |= {"tool_use"} if "tools" in taken else set()
    features |= {"thinking"} if {"reasoning", "include_reasoning"}.intersection(taken) else set()
    features |= {"json_mode"} if {"response_format", "structured_outputs"} & set(taken) else set()
    return frozenset(features)


def _switched(switches: JsonObject) -> ModelCapability:
    features = CHAT_FEATURES | ({"tool_use"} if switches.get("function_calling") is True else set())
    inputs = TEXT | ({"image"} if switches.get("vision") is True else set())
    chats = switches.get("completion_chat") is True
    return ModelCapability(inputs, TEXT if chats else frozenset(), features)
