"""`ProviderSpec`: everything an adapter has to know about the server it talks to."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One named provider instance; secrets never show in its repr."""

    name: str
    kind: str
    """`ollama`, `openai-compatible`, `openai`, `anthropic` or `embedded`."""
    label: str | None = None
    base_url: str | None = field(default=None, repr=False)
    """May hold a name and a password."""
    base_urls: tuple[str, ...] = field(default=(), repr=False)
    """Several addresses make a pool; then `base_url` counts for nothing."""
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    backend: str | None = None
    """`lmstudio`, `localai`, `kobold`, `llamacpp`, `llamacpp-router` or `vllm`, where it is known;
    `generic` where nothing more is to be looked for."""
    extra_body: JsonMapping = field(default_factory=dict)
    """Further keys of every chat request; the request's own count more."""
    ca_file: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    """A proxy's URL, which may hold a name and a password; `none` goes without any."""
    connect_timeout_s: float = 5
    first_byte_timeout_s: float = 300
    """Until the first text, thinking or call: a cold model is slow to load."""
    idle_timeout_s: float = 60
    """Between two signs of life after that."""
    list_timeout_s: float = 5
    waits_for_start: bool = True
    """Whether a server that is still starting is waited for; in a pool another one is asked."""
    problem: AIError | None = None
    """A setting that cannot be used; raised where the provider is used."""


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
