"""Providers: adapters for model servers and engines, imported when one is first made."""

import inspect
from collections.abc import Callable, Iterator

from ollm_tui.config.backends import ADAPTERS, adapter_path
from ollm_tui.config.plugins import Plugin, find_plugins, plugin_names
from ollm_tui.decode.redact import redactor
from ollm_tui.lazy import import_name
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.base_url import url_secrets
from ollm_tui.providers.spec import ProviderSpec

_METHODS = ("chat_stream", "invoke", "capabilities")
"""The methods that the class of an adapter must have."""


def create_provider(spec: ProviderSpec) -> ProviderAdapter:
    """Make the adapter of a server, or of a pool; nothing connects before its first request.

    Raises:
        AIError: BAD_REQUEST for an unknown kind or an invalid address.
    """
    if len(spec.base_urls) > 1:
        # Imported here like the adapters, because few people have a pool.
        from ollm_tui.providers import pool

        return pool.create(spec, create_provider)
    path = adapter_path(spec.kind, spec.backend)
    if path is None:
        return _of_plugin(spec)
    try:
        # Imported here so that listing the kinds does not load the HTTP client (about 40 ms).
        adapter: ProviderAdapter = import_name(path)(spec)
    except AIError as error:
        error.provider = error.provider or spec.name
        raise
    return adapter


def plugin_of(kind: str) -> Plugin | None:
    """Return the plugin that provides a kind, without importing it."""
    return next((one for one in find_plugins("providers") if one.name == kind), None)


def _of_plugin(spec: ProviderSpec) -> ProviderAdapter:
    plugin = plugin_of(spec.kind)
    if plugin is None:
        own = [kind for kind, path in ADAPTERS.items() if path]
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"Provider {spec.name} is of the unknown kind {spec.kind!r}.",
            hint=f"Known kinds: {', '.join(sorted((*own, *plugin_names('providers'))))}.",
            provider=spec.name,
        )
    redact = redactor(_secrets(spec))
    try:
        make = provider_factory(plugin, plugin.load())
        with plugin.translated(f"could not make {spec.name!r}", redact):
            return _checked(plugin, make(spec), spec)
    except AIError as error:
        error.provider = error.provider or spec.name
        raise


def provider_factory(plugin: Plugin, value: object) -> Callable[[ProviderSpec], object]:
    """Check that a plugin's value can make adapters, and return it.

    Raises:
        AIError: It cannot.
    """
    with plugin.translated("cannot be used"):
        if not callable(value):
            raise plugin.problem(f"provides {plugin.name!r}, but it is not a provider class")
        if inspect.isclass(value):
            missing = [name for name in _METHODS if not hasattr(value, name)]
            missing += sorted(getattr(value, "__abstractmethods__", ()))
            if missing:
                raise plugin.problem(
                    f"provides {plugin.name!r}, but its class has no method {missing[0]!r}"
                )
        return value


def _checked(plugin: Plugin, adapter: object, spec: ProviderSpec) -> ProviderAdapter:
    if not isinstance(adapter, ProviderAdapter):
        raise plugin.problem(f"did not return a provider for {spec.name!r}")
    if adapter.name != spec.name or not isinstance(adapter.label, str):
        raise plugin.problem(f"returned a provider with another name or no label for {spec.name!r}")
    return adapter


def _secrets(spec: ProviderSpec) -> Iterator[str | None]:
    yield from (spec.api_key, *spec.headers.values())
    for url in (spec.base_url, spec.proxy, *spec.base_urls):
        yield from url_secrets(url or "")
