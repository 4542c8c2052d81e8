"""Keys that a provider's settings add to every request; what a request says itself counts more."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.request import Request

_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "max_completion_tokens": "max_tokens",
        "repetition_penalty": "repeat_penalty",
        "rep_pen": "repeat_penalty",
        "stop_sequences": "stop",
    }
)
"""Keys that are options of a request under another name."""
_OF_THINKING = frozenset({"reasoning_effort", "thinking", "output_config"})
_TEMPLATE = "chat_template_kwargs"


def with_default_keys(request: Request, keys: JsonMapping) -> Request:
    """Give the request with keys that it says nothing about itself."""
    if not keys:
        return request
    own = request.options.extra_body or {}
    added = {key: value for key, value in keys.items() if not _is_said(request, key)}
    merged: JsonObject = {**added, **own}
    if _TEMPLATE in added and isinstance(own.get(_TEMPLATE), Mapping):
        merged[_TEMPLATE] = _joined(added[_TEMPLATE], own[_TEMPLATE])
    if request.should_think is not None and isinstance(added.get(_TEMPLATE), Mapping):
        merged[_TEMPLATE] = _without_switch(merged[_TEMPLATE], own.get(_TEMPLATE))
    return replace(request, options=replace(request.options, extra_body=merged))


def _is_said(request: Request, key: str) -> bool:
    if key in _OF_THINKING and request.should_think is not None:
        return True
    option = _OPTIONS.get(key, key)
    return option != "extra_body" and getattr(request.options, option, None) is not None


def _joined(ours: JsonValue, theirs: JsonValue) -> JsonValue:
    return ours | theirs if isinstance(ours, dict) and isinstance(theirs, dict) else theirs


def _without_switch(merged: JsonValue, own: JsonValue) -> JsonValue:
    """Leave `enable_thinking` to the request's own wish, unless it spells that out itself."""
    if not isinstance(merged, dict) or (isinstance(own, dict) and "enable_thinking" in own):
        return merged
    return {key: value for key, value in merged.items() if key != "enable_thinking"}
