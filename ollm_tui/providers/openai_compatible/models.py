"""Model lists of OpenAI-compatible servers as `ModelInfo`; pure.

`/v1/models` tells names; the window in use is told by `max_model_len` (vLLM), `context_length`
(OpenRouter), `/props` (llama.cpp), `/api/v1/models` or `/api/v0/models` (LM Studio).
"""

from dataclasses import replace

from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.providers.fields import as_object, integer, objects, positive, string

CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt"})


def read_models(reply: JsonValue) -> list[ModelInfo]:
    """Read `/v1/models`; some services answer with a bare list."""
    entries = objects(reply) or objects(as_object(reply).get("data"))
    windows = {string(entry, "id"): _window(entry) for entry in entries}
    found = []
    for entry in entries:
        name = string(entry, "id")
        if name is None:
            continue
        window = _window(entry)
        if window is None and "max_model_len" in entry:
            window = windows.get(string(entry, "parent"))  # a LoRA has its parent's window
        found.append(
            ModelInfo(name=name, label=_label(entry), context=window, details=_meta(entry))
        )
    return found


def is_llamacpp(reply: JsonValue) -> bool:
    """Whether a list of models comes from llama.cpp, which has more to tell elsewhere."""
    entries = objects(as_object(reply).get("data"))
    return any(string(entry, "owned_by") == "llamacpp" for entry in entries)


def with_props(models: list[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add what llama.cpp's `/props` tells: the window of a slot, and whether it sees pictures."""
    props = as_object(reply)
    window = positive(as_object(props.get("default_generation_settings")), "n_ctx")
    seen = as_object(props.get("modalities"))
    capability = None
    if seen:
        inputs = {"text"} | ({"image"} if seen.get("vision") is True else set())
        inputs |= {"audio"} if seen.get("audio") is True else set()
        capability = ModelCapability(frozenset(inputs), frozenset({"text"}), CHAT_FEATURES)
    if len(models) != 1:
        return models  # a router: its own properties are not those of any one model
    return [replace(models[0], context=window, capability=capability, loaded=True)]


def read_lmstudio(reply: JsonValue) -> list[ModelInfo]:
    """Read `/api/v1/models`, or `/api/v0/models` of older versions; embedding models left out."""
    data = as_object(reply)
    if isinstance(data.get("models"), list):
        entries = [e for e in objects(data.get("models")) if string(e, "type") != "embedding"]
        return [_lmstudio(entry) for entry in entries if string(entry, "key")]
    entries = [e for e in objects(data.get("data")) if string(e, "type") != "embeddings"]
    return [_old_lmstudio(entry) for entry in entries if string(entry, "id")]


def read_kobold_window(reply: JsonValue) -> int | None:
    """Read KoboldCpp's `/api/extra/true_max_context_length`."""
    return positive(as_object(reply), "value")


def _lmstudio(entry: JsonObject) -> ModelInfo:
    instances = objects(entry.get("loaded_instances"))
    config = as_object(instances[0].get("config")) if instances else {}
    abilities = as_object(entry.get("capabilities"))
    features = set(CHAT_FEATURES)
    features |= {"tool_use"} if abilities.get("trained_for_tool_use") is True else set()
    features |= {"thinking"} if abilities.get("reasoning") else set()
    inputs = {"text"} | ({"image"} if abilities.get("vision") is True else set())
    return ModelInfo(
        name=string(entry, "key") or "",
        label=string(entry, "display_name"),
        size_bytes=integer(entry, "size_bytes"),
        capability=ModelCapability(frozenset(inputs), frozenset({"text"}), frozenset(features)),
        context=positive(config, "context_length"),
        loaded=bool(instances),
        details=_trained(entry)
        | _present(entry, architecture="family", params_string="parameter_size"),
    )


def _old_lmstudio(entry: JsonObject) -> ModelInfo:
    inputs = {"text", "image"} if string(entry, "type") == "vlm" else {"text"}
    return ModelInfo(
        name=string(entry, "id") or "",
        capability=ModelCapability(frozenset(inputs), frozenset({"text"}), CHAT_FEATURES),
        context=positive(entry, "loaded_context_length"),
        loaded=string(entry, "state") == "loaded",
        details=_trained(entry) | _present(entry, arch="family", quantization="quantization"),
    )


def _trained(entry: JsonObject) -> JsonObject:
    longest = positive(entry, "max_context_length")
    return {} if longest is None else {"context_trained": longest}


def _present(entry: JsonObject, **names: str) -> JsonObject:
    found = {ours: string(entry, theirs) for theirs, ours in names.items()}
    return {key: value for key, value in found.items() if value is not None}


def _window(entry: JsonObject) -> int | None:
    return (
        positive(entry, "max_model_len")
        or positive(entry, "context_length")
        or positive(as_object(entry.get("meta")), "n_ctx")
    )


def _label(entry: JsonObject) -> str | None:
    return string(entry, "name") or string(entry, "display_name")


def _meta(entry: JsonObject) -> JsonObject:
    meta = as_object(entry.get("meta"))
    found = {
        "context_trained": positive(meta, "n_ctx_train"),
        "parameter_count": positive(meta, "n_params"),
        "size": positive(meta, "size"),
        "owned_by": string(entry, "owned_by"),
    }
    return {key: value for key, value in found.items() if value is not None}
