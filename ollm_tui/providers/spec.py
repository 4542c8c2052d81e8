"""`ProviderSpec`: everything an adapter has to know about its server."""

from collections.abc import Mapping
from pathlib import Path

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One named provider instance; its repr contains no secrets."""

    name: str
    kind: str
    """The protocol: a key of `ADAPTERS` in `config.backends`, or a plugin's name for its own."""
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
