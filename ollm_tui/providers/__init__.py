"""Adapters for model servers and engines, by kind; each is imported when one is first made."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.spec import ProviderSpec

PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "ollama": "ollm_tui.providers.ollama:create",
        "openai-compatible": "ollm_tui.providers.openai_compatible:create",
        "openai": "ollm_tui.providers.openai_compatible:create",
        "anthropic": "ollm_tui.providers.anthropic:create",
    }
)


def create_provider(spec: ProviderSpec) -> ProviderAdapter:
    """Make the adapter of a server, or of a pool; nothing is connected before its first request.

    Raises:
        AIError: BAD_REQUEST for a kind or an address that cannot be used.
    """
    if len(spec.base_urls) > 1:
        # Imported here like the adapters: few people have a pool.
        from ollm_tui.providers import pool

        return pool.create(spec, create_provider)
    place = PROVIDERS.get(spec.kind)
    if place is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"Provider {spec.name} is of the unknown kind {spec.kind!r}.",
            hint=f"Known kinds: {', '.join(sorted(PROVIDERS))}.",
            provider=spec.name,
        )
    module, _, factory = place.partition(":")
    # Imported here so that listing the kinds does not load the HTTP client (about 40 ms).
    make = getattr(import_module(module), factory)
    try:
        adapter = make(spec)
    except AIError as error:
        error.provider = error.provider or spec.name
        raise
    if not isinstance(adapter, ProviderAdapter):
        raise TypeError(f"{place} made something that is no provider")
    return adapter
