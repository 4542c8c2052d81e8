"""Pages of `/models` as `ModelInfo`; pure, and every field may be missing."""

from collections.abc import Sequence

from ollm_tui.decode.json_fields import as_object, objects, positive, string
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.providers.anthropic.adapt import Limits

CHAT_FEATURES = frozenset({"stream", "multi_turn", "system_prompt", "tool_use"})
_FEATURES = {"thinking": "thinking", "structured_outputs": "json_mode"}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def read_page(reply: JsonValue) -> tuple[list[JsonObject], str | None]:
    """Give the entries of a page, and after which id the next one begins if there is one."""
    page = as_object(reply)
    entries = [entry for entry in objects(page.get("data")) if string(entry, "id")]
    last = string(page, "last_id") or (string(entries[-1], "id") if entries else None)
    return entries, last if page.get("has_more") is True else None


def read_models(entries: Sequence[JsonObject]) -> list[ModelInfo]:
    """Read models, in the server's order."""
    return [_model(entry) for entry in entries]


def read_limits(entries: Sequence[JsonObject]) -> dict[str, Limits]:
    """Read what the requests to each model have to keep to."""
    return {string(entry, "id") or "": _limits(entry) for entry in entries}


def _model(entry: JsonObject) -> ModelInfo:
    details: JsonObject = {}
    if longest := positive(entry, "max_tokens"):
        details["max_output_tokens"] = longest
    if stage := string(entry, "lifecycle"):
        details["lifecycle"] = stage
    if efforts := _efforts(as_object(entry.get("capabilities"))):
        details["efforts"] = [*efforts]
    return ModelInfo(
        name=string(entry, "id") or "",
        label=string(entry, "display_name"),
        modified_at=string(entry, "created_at"),
        capability=_capability(entry),
        context=positive(entry, "max_input_tokens")
        or positive(as_object(entry.get("meta")), "n_ctx"),  # llama.cpp
        details=details,
    )


def _capability(entry: JsonObject) -> ModelCapability | None:
    told = as_object(entry.get("capabilities"))
    if not told:
        return None
    inputs = {"text"} | ({"image"} if _supported(told, "image_input") else set())
    features = {ours for theirs, ours in _FEATURES.items() if _supported(told, theirs)}
    return ModelCapability(frozenset(inputs), frozenset({"text"}), CHAT_FEATURES | features)


def _limits(entry: JsonObject) -> Limits:
    thinking = as_object(as_object(entry.get("capabilities")).get("thinking"))
    types = as_object(thinking.get("types"))
    way = next((name for name in ("adaptive", "enabled") if _supported(types, name)), None)
    return Limits(most_tokens=positive(entry, "max_tokens"), thinks_by=way)


def _efforts(told: JsonObject) -> list[str]:
    levels = as_object(told.get("effort"))
    return [level for level in _EFFORTS if _supported(levels, level)]


def _supported(told: JsonObject, name: str) -> bool:
    return as_object(told.get(name)).get("supported") is True
