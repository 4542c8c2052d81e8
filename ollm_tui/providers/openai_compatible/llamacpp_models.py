"""What llama.cpp tells about its models as `ModelInfo`; pure.

A server of one model tells its window and its senses at `/props`. One of many (a router) tells at
`/models` which of them are in memory, and `/props` of each of those by name.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.providers.openai_compatible.models import CHAT_FEATURES, TEXT, read_models

FAILED = "failed"
_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "temperature": "temperature",
        "n_predict": "max_tokens",
        "top_p": "top_p",
        "top_k": "top_k",
        "min_p": "min_p",
        "repeat_penalty": "repeat_penalty",
        "seed": "seed",
    }
)
_ANY_SEED = 2**32 - 1
_MARKS_OF_THINKING = ("<think>", "reasoning_content", "enable_thinking", "<|channel|>analysis")


def is_llamacpp(reply: JsonValue) -> bool:
    """Whether a list of models comes from llama.cpp, which has more to tell elsewhere."""
    entries = objects(as_object(reply).get("data"))
    return any(string(entry, "owned_by") == "llamacpp" for entry in entries)


def read_statuses(reply: JsonValue) -> dict[str, str]:
    """Give what a router says of each model; nothing for a server of one model.

    Statuses are `loaded`, `unloaded`, `loading`, `sleeping`, `downloading`, and `failed` for a
    model whose last load ended badly.
    """
    statuses = {}
    for entry in objects(as_object(reply).get("data")):
        status = as_object(entry.get("status"))
        said = FAILED if status.get("failed") is True else string(status, "value")
        if (name := string(entry, "id")) and said:
            statuses[name] = said
    return statuses


def exit_code(reply: JsonValue, name: str) -> int | None:
    """Give how the process of a model ended that could not be loaded."""
    for entry in objects(as_object(reply).get("data")):
        if string(entry, "id") == name:
            return integer(as_object(entry.get("status")), "exit_code")
    return None


def why_kept(reply: JsonValue) -> dict[str, str]:
    """Give the models that a router does not delete, and why; older builds do not say."""
    entries = objects(as_object(reply).get("data"))
    names = [string(entry, "id") for entry in entries if entry.get("can_remove") is False]
    return {
        name: f"The server deletes only what it downloaded, and {name} is a file of its folder."
        for name in names
        if name
    }


def read_router(reply: JsonValue, props: Mapping[str, JsonValue]) -> list[ModelInfo]:
    """Read a router's list; `props` are the replies of `/props` by name, where there are any."""
    statuses, kept = read_statuses(reply), why_kept(reply)
    found = []
    for info in read_models(reply):
        said = statuses.get(info.name)
        told = replace(
            info,
            loaded=None if said is None else said == "loaded",
            details={
                **info.details,
                **({} if said is None else {"status": said}),
                **({"why_kept": kept[info.name]} if info.name in kept else {}),
            },
        )
        found.append(_with_props(told, props[info.name]) if info.name in props else told)
    return found


def with_props(models: list[ModelInfo], reply: JsonValue) -> list[ModelInfo]:
    """Add what `/props` tells of a server's one model; without a reply it may still be loading."""
    if len(models) != 1 or not isinstance(reply, dict):
        return models
    return [replace(_with_props(models[0], reply), loaded=reply.get("is_sleeping") is not True)]


def _with_props(info: ModelInfo, reply: JsonValue) -> ModelInfo:
    props = as_object(reply)
    usual = as_object(props.get("default_generation_settings"))
    found = {
        "slots": positive(props, "total_slots"),
        "template": string(props, "chat_template"),
        "server_path": string(props, "model_path"),
        "server_defaults": _defaults(usual) or None,
    }
    return replace(
        info,
        context=positive(usual, "n_ctx") or info.context,
        capability=_capability(props) or info.capability,
        details={**info.details, **{k: v for k, v in found.items() if v is not None}},
    )


def _defaults(usual: JsonObject) -> JsonObject:
    """Give what an answer is made with where a request says nothing; older builds tell it flat."""
    told = as_object(usual.get("params")) or usual
    found: JsonObject = {ours: told[theirs] for theirs, ours in _DEFAULTS.items() if theirs in told}
    return found if found.get("seed") != _ANY_SEED else found | {"seed": "any"}


def _capability(props: JsonObject) -> ModelCapability | None:
    seen = as_object(props.get("modalities"))
    features = _features(props)
    if not seen and not features:
        return None
    inputs = TEXT | {
        kind
        for name, kind in (("vision", "image"), ("audio", "audio"), ("video", "video"))
        if seen.get(name) is True
    }
    return ModelCapability(inputs, TEXT, features)


def _features(props: JsonObject) -> frozenset[str]:
    """Read what the chat template can do; older builds do not say, and that stays unknown."""
    abilities = as_object(props.get("chat_template_caps"))
    if not abilities:
        return frozenset()
    template = string(props, "chat_template") or ""
    features = set(CHAT_FEATURES) | {"json_mode"}
    features |= {"tool_use"} if abilities.get("supports_tools") is True else set()
    thinks = any(mark in template for mark in _MARKS_OF_THINKING)
    return frozenset(features | ({"thinking"} if thinks else set()))
