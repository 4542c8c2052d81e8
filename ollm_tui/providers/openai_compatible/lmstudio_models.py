"""LM Studio's own lists of models as `ModelInfo`; pure.

Since 0.4.0 they are at `/api/v1/models`, before at `/api/v0/models`. `max_context_length` is what
a model was made for; the window in use belongs to its loaded instance.
"""

from types import MappingProxyType

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string, strings
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.providers.openai_compatible.described import CHAT_FEATURES, TEXT

_OURS = MappingProxyType({"context_length": "num_ctx"})


def read_lmstudio(reply: JsonValue) -> list[ModelInfo]:
    """Read either list; embedding models are left out."""
    data = as_object(reply)
    if isinstance(data.get("models"), list):
        entries = [e for e in objects(data.get("models")) if string(e, "type") != "embedding"]
        return [_newer(entry) for entry in entries if string(entry, "key")]
    entries = [e for e in objects(data.get("data")) if string(e, "type") != "embeddings"]
    return [_older(entry) for entry in entries if string(entry, "id")]


def read_instances(reply: JsonValue, name: str) -> list[str] | None:
    """Give the ids of a model's loaded instances; None when there is no such model.

    The name may also be the id of an instance.
    """
    for entry in objects(as_object(reply).get("models")):
        ids = [i for one in objects(entry.get("loaded_instances")) if (i := string(one, "id"))]
        if string(entry, "key") == name:
            return ids
        if name in ids:
            return [name]
    return None


def _newer(entry: JsonObject) -> ModelInfo:
    instances = objects(entry.get("loaded_instances"))
    name = string(entry, "key") or ""
    # Asked by its key, a model answers through the instance that has the key for an id.
    used = next((one for one in instances if string(one, "id") == name), None)
    used = used or (instances[0] if instances else {})
    quantization = string(as_object(entry.get("quantization")), "name")
    details = _details(entry, architecture="family", params_string="parameter_size")
    config = as_object(used.get("config"))
    if config:
        details["load_config"] = {_OURS.get(key, key): value for key, value in config.items()}
    return ModelInfo(
        name=name,
        label=string(entry, "display_name"),
        description=string(entry, "description"),
        size_bytes=integer(entry, "size_bytes"),
        capability=_capability(as_object(entry.get("capabilities"))),
        context=positive(config, "context_length"),
        loaded=bool(instances),
        details=details | ({"quantization": quantization} if quantization else {}),
    )


def _capability(told: JsonObject) -> ModelCapability:
    features = set(CHAT_FEATURES) if told else set()
    features |= {"tool_use"} if told.get("trained_for_tool_use") is True else set()
    features |= {"thinking"} if told.get("reasoning") else set()
    inputs = TEXT | ({"image"} if told.get("vision") is True else set())
    return ModelCapability(inputs, TEXT, frozenset(features))


def _older(entry: JsonObject) -> ModelInfo:
    inputs = TEXT | ({"image"} if string(entry, "type") == "vlm" else set())
    features: frozenset[str] = frozenset()
    if isinstance(entry.get("capabilities"), list):  # versions before it leave tools unknown
        told = strings(entry.get("capabilities"))
        features = CHAT_FEATURES | ({"tool_use"} if "tool_use" in told else set())
    return ModelInfo(
        name=string(entry, "id") or "",
        capability=ModelCapability(inputs, TEXT, features),
        context=positive(entry, "loaded_context_length"),
        loaded=string(entry, "state") == "loaded",
        details=_details(entry, arch="family", quantization="quantization"),
    )


def _details(entry: JsonObject, **names: str) -> JsonObject:
    names |= {"publisher": "publisher", "format": "format", "compatibility_type": "format"}
    found = {ours: said for theirs, ours in names.items() if (said := string(entry, theirs))}
    longest = positive(entry, "max_context_length")
    return {**found, **({} if longest is None else {"context_trained": longest})}
