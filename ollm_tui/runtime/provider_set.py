"""The providers that the settings ask for, made but not yet connected."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from ollm_tui.config.foreign import off_the_loop
from ollm_tui.config.paths import AppPaths, expanded
from ollm_tui.config.schema import AppConfig, ProviderSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.other_folders import OtherPrograms, other_folders
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers import PROVIDERS, create_provider, plugin_of
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.unusable import UnusableProvider
from ollm_tui.runtime.presets import has_key, is_service
from ollm_tui.runtime.specs import embedded_settings, provider_spec

EmbeddedFactory = Callable[[AppConfig, AppPaths, AsyncExitStack], Awaitable[ProviderAdapter]]


async def make_providers(
    config: AppConfig, paths: AppPaths, stack: AsyncExitStack, embedded: EmbeddedFactory
) -> list[ProviderAdapter]:
    """Make an adapter for every enabled provider; one that cannot be made says why when used."""
    adapters = []
    named = {config.provider, (config.model or "").partition("://")[0]}
    for name, settings in config.providers.items():
        if not settings.enabled or (_has_nowhere_to_go(settings) and name not in named):
            continue
        spec = provider_spec(name, settings)
        problem = spec.problem or _missing_key(spec, settings)
        if problem is not None:
            adapters.append(_unusable(spec, problem))
        elif settings.kind == "embedded":
            adapters.append(await embedded(config, paths, stack))
        else:
            await _import_plugin(spec)
            adapters.append(_remote(spec))
    return adapters


async def embedded_factory(
    config: AppConfig, paths: AppPaths, stack: AsyncExitStack
) -> ProviderAdapter:
    """Make the provider that runs model files of this machine in a child process."""
    library = FolderLibrary(
        model_folders(config, paths),
        own=paths.models_dir,
        others=other_folders(config.embedded.other_folders, OtherPrograms()),
    )
    provider = EmbeddedProvider(library, embedded_settings(config.embedded))
    return await stack.enter_async_context(provider)


def model_folders(config: AppConfig, paths: AppPaths) -> list[Path]:
    """Give the folders with model files, the app's own first."""
    return [paths.models_dir, *map(expanded, config.embedded.model_folders)]


def _has_nowhere_to_go(settings: ProviderSettings) -> bool:
    """Whether this is a preset that only a configured address brings to life."""
    return settings.kind == "openai-compatible" and not settings.addresses and settings.preset


def _missing_key(spec: ProviderSpec, settings: ProviderSettings) -> AIError | None:
    """Say that a service needs a key, before anything is sent there."""
    if not is_service(settings) or has_key(settings):
        return None
    setting = f"api_key_env below [providers.{spec.name}]"
    is_own = spec.name == settings.kind
    return AIError(
        ErrorCode.AUTH_FAILED,
        f"{spec.label or spec.name} needs a key.",
        hint=f"Set {spec.name.upper()}_API_KEY, or {setting}." if is_own else f"Set {setting}.",
        provider=spec.name,
    )


async def _import_plugin(spec: ProviderSpec) -> None:
    """Import the package of a kind ahead, in a thread: it may take a while."""
    plugin = None if spec.kind in PROVIDERS else plugin_of(spec.kind)
    if plugin is not None:
        with suppress(AIError):  # making the adapter says it
            await off_the_loop(plugin.load)


def _remote(spec: ProviderSpec) -> ProviderAdapter:
    try:
        return create_provider(spec)
    except AIError as error:
        return _unusable(spec, error)


def _unusable(spec: ProviderSpec, problem: AIError) -> ProviderAdapter:
    return UnusableProvider(spec.name, spec.label or spec.name, problem)
