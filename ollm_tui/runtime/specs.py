"""From what a person configured to what an adapter has to know."""

from ollm_tui.config.backends import PRESETS, SERVICES
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.provider_settings import ProviderSettings
from ollm_tui.config.schema import EmbeddedConfig
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.presets import is_service


def provider_spec(name: str, settings: ProviderSettings) -> ProviderSpec:
    """Give the spec of one configured provider; this is where its secrets are opened."""
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
    """Give what a provider is called; a server of one's own is not called like the service."""
    if name in SERVICES and not is_service(settings):
        return name
    return PRESETS[name].label if name in PRESETS else name


def settings_error(problem: ConfigProblem, provider: str | None = None) -> AIError:
    """Give a problem of the settings as an error for the one who runs into it."""
    place = "" if problem.origin.kind == "default" else f" ({problem.origin})"
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"{problem.message.rstrip('.')}{place}.",
        hint=problem.advice or "Fix the settings: `ollm config check` lists what is wrong.",
        provider=provider,
    )


def embedded_settings(config: EmbeddedConfig) -> EmbeddedSettings:
    """Give the engine's settings."""
    return EmbeddedSettings(
        context=config.context,
        threads=config.threads,
        idle_unload_s=config.idle_unload_s or None,
    )
