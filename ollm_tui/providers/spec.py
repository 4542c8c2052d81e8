"""`ProviderSpec`: everything an adapter has to know about its server."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One named provider instance; its repr contains no secrets."""

    name: str
    kind: str
    """`ollama`, `openai-compatible`, `openai`, `anthropic` or `embedded`."""
    label: str | None = None
    base_url: str | None = field(default=None, repr=False)
    """May contain a user name and a password."""
    base_urls: tuple[str, ...] = field(default=(), repr=False)
    """Several addresses form a pool, and `base_url` is ignored."""
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    backend: str | None = None
    """The server program, a `BackendName`; None if it is not known."""
    extra_body: JsonMapping = field(default_factory=dict)
    """Extra keys for the body of every chat request; keys of the request itself win."""
    ca_file: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    """URL of a proxy, which may contain a user name and a password; `none` disables proxies."""
    connect_timeout_s: float = 5
    first_byte_timeout_s: float = 300
    """Until the first text, thinking or tool call; loading a model takes long."""
    idle_timeout_s: float = 60
    """Between two signs of life after that."""
    list_timeout_s: float = 5
    waits_for_start: bool = True
    """Whether requests wait for a server that is starting; a pool tries another one instead."""
    problem: AIError | None = None
    """Why the settings are invalid; raised when the provider is used."""


_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "max_completion_tokens": "max_tokens",
        "repetition_penalty": "repeat_penalty",
        "rep_pen": "repeat_penalty",
        "stop_sequences": "stop",
    }
)
"""Body keys that are options of a request under another name."""
_OF_THINKING = frozenset({"reasoning_effort", "thinking", "output_config"})
_TEMPLATE = "chat_template_kwargs"


def with_default_keys(request: Request, keys: JsonMapping) -> Request:
    """Add the provider's extra body keys to a request, except for those it sets itself."""
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
    """Drop `enable_thinking` from the provider's keys, as the request decides about thinking."""
    if not isinstance(merged, dict) or (isinstance(own, dict) and "enable_thinking" in own):
        return merged
    return {key: value for key, value in merged.items() if key != "enable_thinking"}
