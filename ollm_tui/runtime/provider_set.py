"""From what the user configured to the adapters of providers, made but not yet connected."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from ollm_tui.config.backends import ADAPTERS, PRESETS, SERVICES
from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.paths import AppPaths, expanded
from ollm_tui.config.provider_settings import ModelSettings, ProviderSettings
from ollm_tui.config.regular_file import is_file
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.urls import url_origin
from ollm_tui.dataclass import dataclass
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.other_folders import OtherPrograms, other_folders
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers import create_provider, plugin_of
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.embedded.failures import no_program, not_installed
from ollm_tui.providers.embedded.provider import EmbeddedProvider, engine_available
from ollm_tui.providers.embedded.settings import EmbeddedSettings, server_program
from ollm_tui.providers.embedded.sound_plans import espeak_program
from ollm_tui.providers.router import EMBEDDED
from ollm_tui.providers.spec import ProviderSpec


def provider_spec(name: str, settings: ProviderSettings) -> ProviderSpec:
    """Return the spec of one configured provider; this is where its secrets are opened."""
    addresses = settings.addresses
    return ProviderSpec(
        name=name,
        kind=settings.kind,
        label=settings.label or _usual_label(name, settings),
        base_url=addresses[0] if addresses else SERVICES.get(settings.kind),
        base_urls=addresses if len(addresses) > 1 else (),
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        headers={key: value.get_secret_value() for key, value in settings.headers.items()},
        backend=settings.backend,
        extra_body=settings.extra_body,
        ca_file=settings.ca_file,
        proxy=settings.proxy,
        connect_timeout_s=settings.connect_timeout_s,
        first_byte_timeout_s=settings.first_byte_timeout_s,
        idle_timeout_s=settings.idle_timeout_s,
        problem=settings_error(settings.problem, name) if settings.problem else None,
    )


def _usual_label(name: str, settings: ProviderSettings) -> str:
    """Return the label of a provider; your own server does not get the label of the service."""
    if name in SERVICES and not is_service(settings):
        return name
    return PRESETS[name].label if name in PRESETS else name


def settings_error(problem: ConfigProblem, provider: str | None = None) -> AIError:
    """Return a problem of the settings as an error."""
    place = "" if problem.origin.kind == "default" else f" ({problem.origin})"
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"{problem.message.rstrip('.')}{place}.",
        hint=problem.advice or "Fix the settings: `ollm config check` lists what is wrong.",
        provider=provider,
    )


def embedded_settings(
    config: AppConfig, program: Path | None, espeak: Path | None = None
) -> EmbeddedSettings:
    """Return the settings of the engine, which is `program` or the installed package."""
    embedded, models = config.embedded, embedded_models(config)
    return EmbeddedSettings(
        context=embedded.context,
        is_context_set="context" in embedded.given,
        engine=embedded,
        models=models,
        windows={name: own.context for name, own in models.items() if own.context is not None},
        idle_unload_s=embedded.idle_unload_s or None,
        program=program,
        is_found=embedded.server is None,
        espeak=espeak,
        max_state_bytes=embedded.state_mb << 20,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """What runs model files of this machine, and what is known of models."""

    known_models: KnownModels
    program: Path | None = None
    """The llama-server; None for the installed package."""
    is_missing: bool = False
    """Whether that llama-server does not exist."""
    espeak: Path | None = None
    """The program espeak-ng, if it is there."""

    @property
    def problem(self) -> AIError | None:
        """Why no model file can be run; None if one can."""
        if self.program is not None:
            return no_program(self.program) if self.is_missing else None
        return None if engine_available() else not_installed()


def find_engine(config: AppConfig, paths: AppPaths) -> LocalEngine:
    """Look for the engine, on PATH too; blocking."""
    program = server_program(config.embedded.server)
    return LocalEngine(
        known_models=KnownModels(paths.families_dir),
        program=program,
        is_missing=program is not None and not is_file(program),
        espeak=espeak_program(config.embedded.espeak),
    )


def embedded_models(config: AppConfig) -> Mapping[str, ModelSettings]:
    """Return the settings of models that the built-in engine may run, by name.

    What is set for `built-in://name` counts before what is set for the bare name.
    """
    named = {name: own for name, own in config.models.items() if "://" not in name}
    mark = f"{EMBEDDED}://"
    for address, own in config.models.items():
        if address.startswith(mark):
            name = address.removeprefix(mark)
            bare = named.get(name, ModelSettings())
            set_here = {key: getattr(own, key) for key in own.given}
            named[name] = bare.changed(**set_here)
    return named


def is_service(settings: ProviderSettings) -> bool:
    """Return whether this is a service on the internet, not a server that speaks like one."""
    address = SERVICES.get(settings.kind)
    if address is None:
        return False
    origins = {url_origin(url) for url in settings.addresses or (address,)}
    return url_origin(address) in origins


def has_key(settings: ProviderSettings) -> bool:
    """Return whether requests can be authenticated: by a key, or by headers of your own."""
    return settings.api_key is not None or bool(settings.headers)


def services_of(providers: Mapping[str, ProviderSettings]) -> frozenset[str]:
    """Return the names of the services on the internet, which are used only on request."""
    return frozenset(name for name, settings in providers.items() if is_service(settings))


def usable_services(providers: Mapping[str, ProviderSettings]) -> frozenset[str]:
    """Return the names of the services that have a key."""
    return frozenset(name for name in services_of(providers) if has_key(providers[name]))


def ports_of(providers: Mapping[str, ProviderSettings]) -> dict[str, int]:
    """Return the port of each provider that has an address."""
    return {
        name: port
        for name, settings in providers.items()
        if settings.addresses and (port := urlsplit(settings.addresses[0]).port)
    }


EmbeddedFactory = Callable[[AppConfig, AppPaths, AsyncExitStack], Awaitable[ProviderAdapter]]


async def make_providers(
    config: AppConfig, paths: AppPaths, stack: AsyncExitStack, embedded: EmbeddedFactory
) -> list[ProviderAdapter]:
    """Make an adapter for every enabled provider; one that cannot be made raises when used."""
    adapters: list[ProviderAdapter] = []
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
            try:
                adapters.append(create_provider(spec))
            except AIError as error:
                adapters.append(_unusable(spec, error))
    return adapters


async def embedded_factory(
    config: AppConfig, paths: AppPaths, stack: AsyncExitStack, *, engine: LocalEngine
) -> ProviderAdapter:
    """Make the provider that runs model files of this machine in a child process."""
    models = embedded_models(config)
    settings = replace(
        embedded_settings(config, engine.program, engine.espeak),
        states_dir=paths.states_dir,
    )
    library = FolderLibrary(
        model_folders(config, paths),
        own=paths.models_dir,
        others=other_folders(config.embedded.other_folders, OtherPrograms()),
        named={name: own.path for name, own in models.items() if own.path},
        projectors={name: own.projector for name, own in models.items() if own.projector},
    )
    provider = EmbeddedProvider(library, settings, known_models=engine.known_models)
    return await stack.enter_async_context(provider)


def model_folders(config: AppConfig, paths: AppPaths) -> list[Path]:
    """Return the folders with model files, the app's own first."""
    return [paths.models_dir, *map(expanded, config.embedded.model_folders)]


def _has_nowhere_to_go(settings: ProviderSettings) -> bool:
    """Return whether this is a preset that has no address until one is configured."""
    return settings.kind == "openai-compatible" and not settings.addresses and settings.preset


def _missing_key(spec: ProviderSpec, settings: ProviderSettings) -> AIError | None:
    """Return the error of a service without a key, before anything is sent there."""
    if not is_service(settings) or has_key(settings):
        return None
    setting = f"api_key_env below [providers.{spec.name}]"
    variable = PRESETS[spec.name].key_variable if spec.name in PRESETS else None
    return AIError(
        ErrorCode.AUTH_FAILED,
        f"{spec.label or spec.name} needs a key.",
        hint=f"Set {variable}, or {setting}." if variable else f"Set {setting}.",
        provider=spec.name,
    )


async def _import_plugin(spec: ProviderSpec) -> None:
    """Import the plugin of a kind in a thread, since that may take a while."""
    plugin = None if spec.kind in ADAPTERS else plugin_of(spec.kind)
    if plugin is not None:
        with suppress(AIError):  # reported when the adapter is made
            await run_in_daemon_thread(plugin.load)


def _unusable(spec: ProviderSpec, problem: AIError) -> ProviderAdapter:
    return UnusableProvider(spec.name, spec.label or spec.name, problem)
