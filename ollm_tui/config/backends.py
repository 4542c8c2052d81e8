"""The table of backends: every server program and service that ollm knows, one row each.

Settings, variables, discovery, the adapter factory and the reference pages read this table.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ollm_tui.dataclass import dataclass, field

DEFAULT_PROVIDER = "local"
MAX_AUTHORITIES_BYTES = 16 * 1024 * 1024
"""Bytes of a `ca_file`; the usual bundle of all authorities has 250 kB."""
PRESET_PRIORITY = -10
SERVICE_PRIORITY = -20
HUGGING_FACE = "https://huggingface.co"
"""The hub of model files, unless the settings name another."""

OLLAMA = "ollama"
OPENAI_COMPATIBLE = "openai-compatible"
LLAMACPP_ROUTER = "llamacpp-router"
"""llama.cpp started without a model, to manage many."""
ADAPTERS: Mapping[str, str | None] = {
    OLLAMA: "ollm_tui.providers.ollama:OllamaProvider",
    OPENAI_COMPATIBLE: "ollm_tui.providers.openai_compatible:OpenAICompatibleProvider",
    "embedded": None,
    "openai": "ollm_tui.providers.openai_compatible:OpenAIProvider",
    "anthropic": "ollm_tui.providers.anthropic:AnthropicProvider",
}
"""The adapter class of each `kind`, to be imported when one is first made.

The runtime makes the one of the built-in engine itself: it owns the engine's process.
"""
BackendName = Literal[
    "lmstudio",
    "localai",
    "kobold",
    "llamacpp",
    "llamacpp-router",
    "vllm",
    "sdcpp",
    "sdwebui",
    "generic",
]
"""The values of `backend` in the settings; `generic` turns detection off."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The features by which a backend is recognized."""

    order: int
    """Signatures are tried in this order: engines that others imitate come last."""
    test: str
    """Import path of a predicate over the probe replies."""
    needs_all_replies: bool = False
    """Whether a missing reply could be the one that betrays an imitation."""


def _recognized_by(order: int, test: str, *, needs_all_replies: bool = False) -> Signature:
    return Signature(order, f"ollm_tui.providers.fingerprint:{test}", needs_all_replies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One row of the table."""

    name: str
    label: str
    kind: str
    """The protocol it speaks; a key of `ADAPTERS`."""
    preset: str | None = None
    """The `[providers.NAME]` that exists before anybody configures one, if there is one."""
    alias: str | None = None
    """The usual name of the preset; shown in addresses."""
    adapters: Mapping[str, str] = field(default_factory=dict)
    """Import paths of adapters made for it, by kind; else the one of the kind is used.

    A backend that has any is a value of the setting `backend`.
    """
    service_url: str | None = None
    """Address of a service on the internet; nothing is sent to one without the user's consent."""
    port: int | None = None
    """Where it listens on this machine by default."""
    further_ports: tuple[int, ...] = ()
    """Default ports of newer versions."""
    is_port_assumed: bool = False
    """Whether a bare host in the settings means this port and not port 80."""
    start_command: str | None = None
    host_variable: str | None = None
    key_variable: str | None = None
    """Environment variables for its address and its API key."""
    priority: int | None = None
    limits: Mapping[str, object] = field(default_factory=dict)
    """Time limits that differ from the usual ones, in seconds, by setting."""
    signatures: tuple[Signature, ...] = ()
    version_at: tuple[str, str] | None = None
    """Path and JSON key of its version."""

    @property
    def base_url(self) -> str | None:
        """Where it is by default: a service on the internet, or a server on this machine."""
        return self.service_url or (f"http://127.0.0.1:{self.port}" if self.port else None)

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of its preset."""
        values: dict[str, object | None] = {
            "kind": self.kind,
            "base_url": self.base_url,
            "backend": self.name if self.adapters else None,
            "priority": self.priority,
            **self.limits,
        }
        return {k: value for k, value in values.items() if value is not None}


def _dialect(name: str, label: str, adapter: str, **more: Any) -> Backend:
    adapters = {OPENAI_COMPATIBLE: f"ollm_tui.providers.openai_compatible:{adapter}"}
    return Backend(
        name=name,
        label=label,
        kind=OPENAI_COMPATIBLE,
        adapters={**adapters, **more.pop("adapters", {})},
        priority=PRESET_PRIORITY,
        **more,
    )


_LLAMACPP_MESSAGES = {"anthropic": "ollm_tui.providers.anthropic:LlamaCppMessagesProvider"}
BACKENDS: tuple[Backend, ...] = (
    Backend(
        name=OLLAMA,
        label="Ollama",
        kind=OLLAMA,
        preset="local",
        alias="ollama",
        port=11434,
        priority=20,
        start_command="ollama serve",
        host_variable="OLLAMA_HOST",
        signatures=(_recognized_by(8, "is_ollama", needs_all_replies=True),),
        version_at=("/api/version", "version"),
    ),
    Backend(
        name="embedded",
        label="Built-in",
        kind="embedded",
        preset="embedded",
        alias="built-in",
        priority=10,
    ),
    Backend(
        name=OPENAI_COMPATIBLE,
        label="OpenAI-compatible server",
        kind=OPENAI_COMPATIBLE,
        preset=OPENAI_COMPATIBLE,
        host_variable="OPENAI_COMPATIBLE_HOST",
        key_variable="OPENAI_COMPATIBLE_API_KEY",
    ),
    _dialect(
        "vllm",
        "vLLM",
        "VllmProvider",
        preset="vllm",
        port=8000,
        is_port_assumed=True,
        host_variable="VLLM_HOST",
        key_variable="VLLM_API_KEY",
        signatures=(_recognized_by(7, "is_vllm", needs_all_replies=True),),
        version_at=("/version", "version"),
    ),
    _dialect(
        "lmstudio",
        "LM Studio",
        "LMStudioProvider",
        preset="lmstudio",
        port=1234,
        is_port_assumed=True,
        signatures=(
            _recognized_by(4, "is_lmstudio"),
            _recognized_by(6, "is_empty_lmstudio", needs_all_replies=True),
        ),
    ),
    _dialect(
        "localai",
        "LocalAI",
        "LocalAIProvider",
        preset="localai",
        port=8080,
        signatures=(_recognized_by(5, "is_localai"),),
        version_at=("/version", "version"),
    ),
    _dialect(
        "kobold",
        "KoboldCpp",
        "KoboldProvider",
        preset="kobold",
        port=5001,
        is_port_assumed=True,
        # It buffers a whole answer that may call tools, and while it streams, nothing tells a
        # slow server from a dead one.
        limits={"first_byte_timeout_s": 900, "idle_timeout_s": 300},
        signatures=(_recognized_by(1, "is_kobold"),),
        version_at=("/api/extra/version", "version"),
    ),
    _dialect(
        "llamacpp",
        "llama.cpp",
        "LlamaCppProvider",
        preset="llamacpp",
        port=8080,
        further_ports=(9931,),
        adapters=_LLAMACPP_MESSAGES,
        signatures=(_recognized_by(3, "is_llamacpp"),),
        version_at=("/props", "build_info"),
    ),
    _dialect(
        "sdcpp",
        "stable-diffusion.cpp",
        "SdCppProvider",
        port=1234,
        signatures=(_recognized_by(9, "is_sdcpp"),),
    ),
    _dialect("sdwebui", "Stable Diffusion web UI", "SdWebUIProvider", port=7860),
    _dialect(
        LLAMACPP_ROUTER,
        "llama.cpp router",
        "LlamaCppRouterProvider",
        adapters=_LLAMACPP_MESSAGES,
        signatures=(_recognized_by(2, "is_llamacpp_router"),),
        version_at=("/props", "build_info"),
    ),
    Backend(
        name="openai",
        label="OpenAI",
        kind="openai",
        preset="openai",
        service_url="https://api.openai.com/v1",
        priority=SERVICE_PRIORITY,
        host_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
    ),
    Backend(
        name="anthropic",
        label="Anthropic",
        kind="anthropic",
        preset="anthropic",
        service_url="https://api.anthropic.com/v1",
        priority=SERVICE_PRIORITY,
        host_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
    ),
)
BACKEND: Mapping[str, Backend] = {row.name: row for row in BACKENDS}
"""The rows, by name."""
PRESETS: Mapping[str, Backend] = {row.preset: row for row in BACKENDS if row.preset}
"""The rows that are there unconfigured, by the name of their provider."""
BUILT_IN_PROVIDERS: Mapping[str, Mapping[str, object]] = {
    name: row.settings for name, row in PRESETS.items()
}
"""`local` and `embedded` are always there; the others are offered when configured or answering,
a service when there is a key for it."""
BUILT_IN_ALIASES: Mapping[str, str] = {
    row.alias: name for name, row in PRESETS.items() if row.alias
}
SERVICES: Mapping[str, str] = {row.kind: row.service_url for row in BACKENDS if row.service_url}
"""Addresses of the services on the internet, by kind."""
FURTHER_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    name: tuple(f"http://127.0.0.1:{port}" for port in row.further_ports)
    for name, row in PRESETS.items()
    if row.further_ports
}
"""Where newer versions of an engine listen by default, by preset."""
ALWAYS_THERE = frozenset({"local", "embedded"})
OWN_PROTOCOLS = frozenset(row.kind for row in BACKENDS if row.signatures) - {OPENAI_COMPATIBLE}
"""The protocols beside OpenAI's whose servers are found by a look."""


def defaults_of(name: str) -> Mapping[str, object]:
    """Return the default settings of a provider; an unknown name is an OpenAI-compatible server."""
    if (known := BUILT_IN_PROVIDERS.get(name)) is not None:
        return known
    kind = name if name in ADAPTERS else OPENAI_COMPATIBLE
    base_url = BACKEND[OLLAMA].base_url
    return {"kind": kind, "base_url": base_url} if kind == OLLAMA else {"kind": kind}


def adapter_path(kind: str, backend: str | None) -> str | None:
    """Return the import path of the adapter class, or None if no adapter here has this kind."""
    row = BACKEND.get(backend or "")
    return (row.adapters.get(kind) if row else None) or ADAPTERS.get(kind)
