"""llama.cpp's replies about models, from `/props` and a router's `/models`; pure."""

from collections.abc import Mapping
from dataclasses import replace

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, present, string
from ollm_tui.decode.thinking import mentions_thinking, opens_thinking
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.request import SAMPLING_OPTIONS, PromptToken
from ollm_tui.providers.openai_compatible.models import CHAT_FEATURES, TEXT, read_models

FAILED = "failed"
_DEFAULTS: Mapping[str, str] = {name: name for name in SAMPLING_OPTIONS} | {
    "n_predict": "max_tokens"
}
_ANY_SEED = 2**32 - 1


def is_llamacpp(reply: JsonValue) -> bool:
    """Whether a list of models is llama.cpp's, which has more at `/props`."""
    entries = objects(as_object(reply).get("data"))
    return any(string(entry, "owned_by") == "llamacpp" for entry in entries)


def read_statuses(reply: JsonValue) -> dict[str, str]:
    """Return a router's status of each model; empty for a server of one model.

    Statuses are `loaded`, `unloaded`, `loading`, `sleeping`, `downloading`, and `failed` for a
    model whose last load ended badly.
    """
    statuses = {}
    for entry in objects(as_object(reply).get("data")):
        status = as_object(entry.get("status"))
        value = FAILED if status.get("failed") is True else string(status, "value")
        if (name := string(entry, "id")) and value:
            statuses[name] = value
    return statuses


def exit_code(reply: JsonValue, name: str) -> int | None:
    """Return the exit code of a model's process, if the model failed to load."""
    for entry in objects(as_object(reply).get("data")):
        if string(entry, "id") == name:
            return integer(as_object(entry.get("status")), "exit_code")
    return None


def undeletable_models(reply: JsonValue) -> dict[str, str]:
    """Return the models that a router cannot delete, and why; older builds do not say."""
    entries = objects(as_object(reply).get("data"))
    names = [string(entry, "id") for entry in entries if entry.get("can_remove") is False]
    return {
        name: f"The server deletes only what it downloaded, and {name} is a file of its folder."
        for name in names
        if name
    }


def read_pieces(reply: JsonValue) -> tuple[PromptToken, ...] | None:
    """Return the tokens of `/tokenize`; None if an older build gives no texts with them.

    A text that is not UTF-8 by itself is sent as a list of its bytes.
    """
    tokens = []
    for entry in objects(as_object(reply).get("tokens")):
        piece, number = entry.get("piece"), integer(entry, "id")
        if isinstance(piece, list):
            raw = bytes(byte for byte in piece if isinstance(byte, int) and 0 <= byte < 256)
            piece = raw.decode(errors="replace")
        if number is None or not isinstance(piece, str):
            return None
        tokens.append(PromptToken(number, piece))
    return tuple(tokens) or None


def read_variables(props: JsonValue) -> dict[str, str]:
    """Return the tokens that the engine gives its template by name, from `/props`."""
    names = ("bos_token", "eos_token")
    return {name: text for name in names if (text := string(as_object(props), name)) is not None}


def read_router(reply: JsonValue, props: Mapping[str, JsonValue]) -> list[ModelInfo]:
    """Read a router's list; `props` are the replies of `/props` by name, if any."""
    statuses, kept = read_statuses(reply), undeletable_models(reply)
    models = []
    for info in read_models(reply):
        status = statuses.get(info.name)
        model = replace(
            info,
            loaded=None if status is None else status == "loaded",
            details=present({**info.details, "status": status, "why_kept": kept.get(info.name)}),
        )
        models.append(_with_props(model, props[info.name]) if info.name in props else model)
    return models


def with_props(models: list[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add the reply of `/props` to a server's one model; without one it may still be loading."""
    if len(models) != 1 or not isinstance(reply, dict):
        return models
    return [replace(_with_props(models[0], reply), loaded=reply.get("is_sleeping") is not True)]


def _with_props(info: ModelInfo, reply: JsonValue) -> ModelInfo:
    props = as_object(reply)
    settings = as_object(props.get("default_generation_settings"))
    details = {
        "slots": positive(props, "total_slots"),
        "template": string(props, "chat_template"),
        "opens_thinking": opens_thinking(string(props, "chat_template") or "") or None,
        "server_path": string(props, "model_path"),
        "server_defaults": _defaults(settings) or None,
    }
    return replace(
        info,
        context=positive(settings, "n_ctx") or info.context,
        capability=_capability(props) or info.capability,
        details={**info.details, **present(details)},
    )


def _defaults(settings: JsonObject) -> JsonObject:
    """Return the default options of a request; older builds have them without `params`."""
    params = as_object(settings.get("params")) or settings
    options: JsonObject = {
        ours: params[theirs] for theirs, ours in _DEFAULTS.items() if theirs in params
    }
    return options if options.get("seed") != _ANY_SEED else options | {"seed": "any"}


def _capability(props: JsonObject) -> ModelCapability | None:
    modalities = as_object(props.get("modalities"))
    features = _features(props)
    if not modalities and not features:
        return None
    inputs = TEXT | {
        kind
        for name, kind in (("vision", "image"), ("audio", "audio"), ("video", "video"))
        if modalities.get(name) is True
    }
    return ModelCapability(inputs, TEXT, features)


def _features(props: JsonObject) -> frozenset[str]:
    """Read the features of the chat template; older builds do not declare them."""
    capabilities = as_object(props.get("chat_template_caps"))
    if not capabilities:
        return frozenset()
    template = string(props, "chat_template") or ""
    features = set(CHAT_FEATURES) | {"json_mode"}
    features |= {"tool_use"} if capabilities.get("supports_tools") is True else set()
    return frozenset(features | ({"thinking"} if mentions_thinking(template) else set()))
