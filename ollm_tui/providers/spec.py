"""`ProviderSpec`: everything an adapter has to know about the server it talks to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping


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
