"""Adapters for model servers and engines, by kind; each is imported when one is first made."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from ollm_tui.config.plugins import Plugin, find_plugins, plugin_names
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
        return _of_plugin(spec)
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


def _of_plugin(spec: ProviderSpec) -> ProviderAdapter:
    """Make the adapter of a kind that an installed package brings.

    Raises:
        AIError: BAD_REQUEST for an unknown kind, or the plugin cannot be used.
    """
    plugin = next((one for one in find_plugins("providers") if one.name == spec.kind), None)
    if plugin is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"Provider {spec.name} is of the unknown kind {spec.kind!r}.",
            hint=f"Known kinds: {', '.join(sorted((*PROVIDERS, *plugin_names('providers'))))}.",
            provider=spec.name,
        )
    try:
        make = plugin.load()
        if not callable(make):
            raise plugin.problem(f"brings {plugin.name!r}, which makes no provider")
        adapter = _made_by(plugin, make, spec)
    except AIError as error:
        error.provider = error.provider or spec.name
        raise
    return adapter


def _made_by(
    plugin: Plugin, make: Callable[[ProviderSpec], object], spec: ProviderSpec
) -> ProviderAdapter:
    with plugin.translated(f"could not make {spec.name!r}"):
        adapter = make(spec)
        if isinstance(adapter, ProviderAdapter) and adapter.name == spec.name:
            return adapter
    raise plugin.problem(f"made something that is no provider named {spec.name!r}")
