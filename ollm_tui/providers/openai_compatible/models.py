"""`/v1/models` of any server as `ModelInfo`; pure."""

from collections.abc import Mapping

from ollm_tui.decode.json_fields import as_object, objects, positive, present, string, strings
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import MUSIC, ModelCapability, ModelInfo

CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt"})
TEXT = frozenset({"text"})
DRAWS = ModelCapability(TEXT | {"image"}, frozenset({"image"}))
"""Draws, and edits pictures."""
_MODALITIES = frozenset({"text", "image", "audio", "video"})
EMBEDS = ModelCapability(TEXT, frozenset({"embedding"}))
SPEAKS = ModelCapability(TEXT, frozenset({"audio"}))
TRANSCRIBES = ModelCapability(frozenset({"audio"}), TEXT)
RANKS = ModelCapability(TEXT, frozenset({"score"}))
FILMS = ModelCapability(TEXT, frozenset({"video"}))
COMPOSES = ModelCapability(TEXT, frozenset({"audio"}), frozenset({MUSIC}))
_OTHER_TYPES: Mapping[str, ModelCapability] = {
    "image": DRAWS,
    "embedding": EMBEDS,
    "embeddings": EMBEDS,
    "rerank": RANKS,
    "audio": SPEAKS,
    "transcribe": TRANSCRIBES,
    "video": FILMS,
    "moderation": ModelCapability(TEXT, frozenset({"moderation"})),
}
"""Together's types of models that do not chat."""
BY_KIND: Mapping[str, ModelCapability] = {
    "embedding": EMBEDS,
    "image": DRAWS,
    "whisper": TRANSCRIBES,
    "speech": SPEAKS,
    "video": FILMS,
}
"""What models do beside chatting, by their kind in `models/kinds.yaml`."""
_WINDOWS = (
    "max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens"
)  # fmt: skip
"""The context window by the names of vLLM, OpenRouter, Groq, Mistral and LiteLLM."""


def read_models(reply: JsonValue) -> list[ModelInfo]:
    """Read `/v1/models`, or the bare list of some services, with what each model can do."""
    entries = objects(reply) or objects(as_object(reply).get("data"))
    windows = {string(entry, "id"): _window(entry) for entry in entries}
    models = []
    for entry in entries:
        name = string(entry, "id")
        if name is None:
            continue
        window = _window(entry)
        if window is None:
            window = windows.get(string(entry, "parent"))  # a LoRA has its parent's window
        models.append(
            ModelInfo(
                name=name,
                label=string(entry, "name") or string(entry, "display_name"),
                capability=declared_capability(entry),
                size_bytes=positive(as_object(entry.get("meta")), "size"),
                context=window,
                details=_meta(entry),
            )
        )
    return models


def _window(entry: JsonObject) -> int | None:
    named = (positive(entry, key) for key in _WINDOWS)
    return next(filter(None, named), None) or positive(as_object(entry.get("meta")), "n_ctx")


def _meta(entry: JsonObject) -> JsonObject:
    meta = as_object(entry.get("meta"))
    details = {
        "context_trained": positive(meta, "n_ctx_train"),
        "parameter_count": positive(meta, "n_params"),
        "quantization": string(meta, "ftype"),
        "owned_by": string(entry, "owned_by"),
        "parent": string(entry, "parent"),
    }
    return present(details)


def declared_capability(entry: JsonObject) -> ModelCapability | None:
    """Return the capability that a model's entry declares, or None if it declares none."""
    architecture = as_object(entry.get("architecture"))
    if inputs := strings(architecture.get("input_modalities")):
        outputs = strings(architecture.get("output_modalities")) or ["text"]
        return ModelCapability(
            _MODALITIES.intersection(inputs), frozenset(outputs), _parameters(entry)
        )
    switches = as_object(entry.get("capabilities"))
    if "completion_chat" in switches:
        return _switched(switches)
    return _OTHER_TYPES.get(string(entry, "type") or "")


def _parameters(entry: JsonObject) -> frozenset[str]:
    """Read features from the options that a model supports, if they are listed."""
    if not isinstance(entry.get("supported_parameters"), list):
        return frozenset()
    names = set(strings(entry.get("supported_parameters")))
    features = set(CHAT_FEATURES)
    features |= {"tool_use"} if "tools" in names else set()
    features |= {"thinking"} if {"reasoning", "include_reasoning"} & names else set()
    features |= {"json_mode"} if {"response_format", "structured_outputs"} & names else set()
    return frozenset(features)


def _switched(switches: JsonObject) -> ModelCapability:
    features = CHAT_FEATURES | ({"tool_use"} if switches.get("function_calling") is True else set())
    inputs = TEXT | ({"image"} if switches.get("vision") is True else set())
    chats = switches.get("completion_chat") is True
    return ModelCapability(inputs, TEXT if chats else frozenset(), features)
