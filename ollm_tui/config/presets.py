"""The provider instances that exist before anybody configures one."""

from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_PROVIDER = "local"
LARGEST_AUTHORITIES = 16 * 1024 * 1024
"""Bytes of a `ca_file`; the usual bundle of all authorities has 250 kB."""
PRESET_PRIORITY = -10
SERVICE_PRIORITY = -20
HUGGING_FACE = "https://huggingface.co"
"""The hub of model files, unless the settings name another."""
BUILT_IN_ALIASES: Mapping[str, str] = MappingProxyType({"ollama": "local", "built-in": "embedded"})
"""What people call the providers whose names the specifications give; shown in addresses."""
OPENAI_COMPATIBLE = "openai-compatible"
SERVICES: Mapping[str, str] = MappingProxyType(
    {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}
)
"""Services on the internet, by kind: only a person's word makes the app talk to one."""


def _engine(backend: str, port: int, **more: object) -> Mapping[str, object]:
    return MappingProxyType(
        {
            "kind": OPENAI_COMPATIBLE,
            "base_url": f"http://127.0.0.1:{port}",
            "backend": backend,
            "priority": PRESET_PRIORITY,
            **more,
        }
    )


def _service(kind: str) -> Mapping[str, object]:
    return MappingProxyType(
        {"kind": kind, "base_url": SERVICES[kind], "priority": SERVICE_PRIORITY}
    )


BUILT_IN_PROVIDERS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "local": MappingProxyType(
            {"kind": "ollama", "base_url": "http://127.0.0.1:11434", "priority": 20}
        ),
        "embedded": MappingProxyType({"kind": "embedded", "priority": 10}),
        OPENAI_COMPATIBLE: MappingProxyType({"kind": OPENAI_COMPATIBLE}),
        "vllm": _engine("vllm", 8000),
        "lmstudio": _engine("lmstudio", 1234),
        "localai": _engine("localai", 8080),
        # It writes an answer with tools to its end before it sends any of it, and in an answer
        # that comes bit by bit nothing tells a slow server from a dead one.
        "kobold": _engine("kobold", 5001, first_byte_timeout_s=900, idle_timeout_s=300),
        "llamacpp": _engine("llamacpp", 8080),
        "openai": _service("openai"),
        "anthropic": _service("anthropic"),
    }
)
"""`local` and `embedded` are always there; the others are offered when configured or answering,
a service when there is a key for it."""
FURTHER_ADDRESSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"llamacpp": ("http://127.0.0.1:9931",)}
)
"""Where newer versions of an engine are without a word of anybody."""

ALWAYS_THERE = frozenset({"local", "embedded"})
_KINDS_BY_NAME = frozenset({"ollama", "embedded", *SERVICES})


def defaults_of(name: str) -> Mapping[str, object]:
    """Give what is assumed of an instance; a name nobody knows is an OpenAI-like server."""
    known = BUILT_IN_PROVIDERS.get(name)
    if known is not None:
        return known
    kind = name if name in _KINDS_BY_NAME else OPENAI_COMPATIBLE
    return (
        {"kind": kind, "base_url": "http://127.0.0.1:11434"} if kind == "ollama" else {"kind": kind}
    )
