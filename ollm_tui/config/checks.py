"""Checks that go beyond the schema: whether the folders, files and providers named exist.

A problem changes no other value: a named model stays, an unusable provider is marked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from ollm_tui.config.backends import BUILT_IN_PROVIDERS, MAX_AUTHORITIES_BYTES, SERVICES
from ollm_tui.config.engine_settings import ModelEngineSettings
from ollm_tui.config.origin import ConfigProblem, KeyPath, Layers, Origin, Severity, dotted, nearest
from ollm_tui.config.provider_settings import ProviderSettings
from ollm_tui.config.regular_file import is_file, is_folder, read_bounded, why_unreadable
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.sources import ENGINE_VARIABLES
from ollm_tui.config.values import BUILT_IN_KINDS
from ollm_tui.lazy import lazy_re

TOOLS_ROOT: KeyPath = ("tools", "root")
_PORT = lazy_re(r"-[0-9]{1,5}$")
OriginOf = Callable[[KeyPath], Origin]


def reference_problems(config: AppConfig, origin_of: OriginOf) -> Iterator[ConfigProblem]:
    """Yield the folders and providers that are named but do not exist."""
    if config.tools.root is not None and not is_folder(config.tools.root):
        key = dotted(TOOLS_ROOT)
        yield ConfigProblem(
            f"`{key}` names a folder that does not exist: the tools for files are off.",
            origin_of(TOOLS_ROOT),
            TOOLS_ROOT,
            hint="Create it, or name another folder.",
        )
    model: KeyPath = ("model",)
    yield from _stray_provider(config, config.model or "", model, origin_of, "error")
    for name in config.models:
        yield from _stray_provider(config, name, ("models", name), origin_of, "warning")
    for task, name in config.defaults.to_dict().items():
        yield from _stray_provider(config, name or "", ("defaults", task), origin_of, "warning")
    for name, profile in config.profiles.items():
        path: KeyPath = ("profiles", name, "model")
        if origin_of(path) != origin_of(model):  # else it is the one that was checked above
            yield from _stray_provider(config, profile.model or "", path, origin_of, "warning")
    folders: KeyPath = ("embedded", "model_folders")
    for number, folder in enumerate(config.embedded.model_folders, 1):
        if not is_folder(folder):
            what = f"`{dotted(folders)}`: folder {number} of the list does not exist."
            yield ConfigProblem(what, origin_of(folders), folders, severity="warning", waits=True)
    yield from _missing_files(config, origin_of)


def _missing_files(config: AppConfig, origin_of: OriginOf) -> Iterator[ConfigProblem]:
    """Yield the files that do not exist, and those of the engine for another provider."""
    path: KeyPath = ("embedded", "server")
    named: list[tuple[KeyPath, object]] = [
        (path, config.embedded.server),
        (("embedded", "espeak"), config.embedded.espeak),
    ]
    named += [(("profiles", one, "schema"), p.schema_file) for one, p in config.profiles.items()]
    for name, model in config.models.items():
        for key in ModelEngineSettings.declared():
            value, path = getattr(model, key), ("models", name, key)
            server = _server_of(config, name)
            if value not in (None, []) and server is not None:
                yield _for_the_engine(path, server, origin_of(path))
            named += [(path, one) for one in (value if isinstance(value, list) else [value])]
    for path, value in named:
        if isinstance(value, Path) and not is_file(value):
            what = f"`{dotted(path)}` names a file that does not exist."
            yield ConfigProblem(what, origin_of(path), path, severity="warning", waits=True)


def _server_of(config: AppConfig, address: str) -> ProviderSettings | None:
    """Return the provider that an address names; None for the built-in engine and a bare name."""
    name, mark, _ = address.partition("://")
    settings = config.providers.get(config.aliases.get(name, name)) if mark else None
    return settings if settings is not None and settings.kind != "embedded" else None


def _for_the_engine(path: KeyPath, server: ProviderSettings, origin: Origin) -> ConfigProblem:
    """Return the problem of a setting of the engine that is set for a model of a server.

    A template is reported at the start: without it the model gets other prompts than intended.
    """
    is_template = path[-1] == "chat_template"
    hint = "Remove it: the server decides how it loads a model."
    if is_template:
        hint = _TEMPLATES.get(server.backend or server.kind, _TEMPLATES["llamacpp"])
    return ConfigProblem(
        f"`{dotted(path)}` is for models of the built-in engine.",
        origin,
        path,
        hint=hint,
        severity="warning",
        waits=not is_template,
    )


_TEMPLATES: Final[Mapping[str, str]] = {
    "ollama": "Give the model its template in Ollama: `ollm models create NAME MODEL "
    "--template FILE`.",
    "vllm": "vLLM takes the text of a template as `chat_template` in `extra_body`, if it was "
    "started with --trust-request-chat-template.",
    "llamacpp": "Start the server with it; llama-server takes --chat-template-file.",
}
"""By server, how its models get another chat template."""


def _stray_provider(
    config: AppConfig, address: str, path: KeyPath, origin_of: OriginOf, severity: Severity
) -> Iterator[ConfigProblem]:
    name, mark, _ = address.partition("://")
    # An engine on a port of its own is registered as `llamacpp-8080`.
    names = (name, _PORT.sub("", name))
    if not mark or any(one in config.providers or one in config.aliases for one in names):
        return
    find_hint = partial(_similar_name, config, name, "`ollm config show` lists them.")
    yield ConfigProblem(
        f"`{dotted(path)}` names an unknown provider.",
        origin_of(path),
        path,
        find_hint=find_hint,
        severity=severity,
        waits=True,
    )


_SAFE_TO_REPLACE = frozenset(
    {"label", "connect_timeout_s", "first_byte_timeout_s", "idle_timeout_s", "priority"}
)
_KEY_VARIABLES = frozenset(name for name, path in ENGINE_VARIABLES.items() if "api_key" in path)


def mark_providers(
    providers: Mapping[str, ProviderSettings],
    layers: Layers,
    problems: Iterable[ConfigProblem],
    configured: frozenset[str],
) -> dict[str, ProviderSettings]:
    """Return the providers, marked with why they cannot be used and whether they are presets."""
    closing = {p.path[1]: p for p in reversed([*problems]) if disables_provider(p)}
    known = list(BUILT_IN_PROVIDERS)
    places = {name: known.index(name) if name in known else len(known) for name in providers}
    return {
        name: settings.changed(
            problem=closing.get(name) or _unusable(name, settings, layers),
            preset=name not in configured,
        )
        for name, settings in sorted(providers.items(), key=lambda item: places[item[0]])
    }


def disables_provider(problem: ConfigProblem) -> bool:
    """Whether a problem leaves open where a provider is or which key it gets."""
    path = problem.path
    if problem.severity != "error" or path[:1] != ("providers",) or len(path) == 1:
        return False
    # A rejected value, not an unknown key: there is no other value to use in its place.
    return len(path) == 2 or (
        path[2] in ProviderSettings.declared() and path[2] not in _SAFE_TO_REPLACE
    )


def configured_providers(layers: Layers) -> frozenset[str]:
    """Return the providers that have any setting other than a key in the environment."""
    return frozenset(
        setting.path[1]
        for setting in layers.below(("providers",))
        if setting.rank > 0 and setting.path[1:] and setting.origin.name not in _KEY_VARIABLES
    )


def _unusable(name: str, settings: ProviderSettings, layers: Layers) -> ConfigProblem | None:
    path: KeyPath = ("providers", name)
    first_origin = next((s.origin for s in layers.below(path) if s.rank > 0), Origin("default"))
    # A plugin decides itself whether it needs an address.
    is_plugin = settings.kind not in BUILT_IN_KINDS
    has_address = settings.kind == "embedded" or settings.kind in SERVICES or is_plugin
    if not has_address and not settings.addresses:
        return ConfigProblem(
            f"The provider `{name}` has no address.",
            first_origin,
            (*path, "base_url"),
            hint=f"Set base_url below [providers.{name}], or use --provider {name} --host URL.",
        )
    why = _why_no_authorities(settings.ca_file)
    if why is None:
        return None
    at = (*path, "ca_file")
    named = layers.top(at)
    origin = first_origin if named is None else named.origin
    return ConfigProblem(f"`{dotted(at)}` names a file that cannot be used: {why}.", origin, at)


def _why_no_authorities(file: Path | None) -> str | None:
    try:
        if file is None or b"-----BEGIN" in read_bounded(file, MAX_AUTHORITIES_BYTES):
            return None
    except (OSError, ValueError) as error:
        return why_unreadable(error)
    return "it holds no certificate in PEM form"


_MAX_NAMED = 20
PROVIDER_NAME = lazy_re(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def name_problems(config: AppConfig, origin_of: OriginOf) -> Iterator[ConfigProblem]:
    """Yield the names that lead nowhere; `resolve_names` removes such aliases."""
    for name in config.providers:
        if PROVIDER_NAME.fullmatch(name) is None:
            path: KeyPath = ("providers", name)
            hint = "Use letters, digits, `.`, `_` and `-`."
            yield ConfigProblem(
                f"`{dotted(path)}` cannot be used in an address.", origin_of(path), path, hint=hint
            )
    for alias, target in config.aliases.items():
        if target not in config.providers:
            yield _unknown_name(config, ("aliases", alias), target, origin_of)
    if config.provider is not None and not _exists(config, config.provider):
        yield _unknown_name(config, ("provider",), config.provider, origin_of)


def _exists(config: AppConfig, name: str) -> bool:
    return name in config.providers or config.aliases.get(name) in config.providers


def _unknown_name(
    config: AppConfig, path: KeyPath, name: str, origin_of: OriginOf
) -> ConfigProblem:
    known = f"Available: {', '.join(islice(config.providers, _MAX_NAMED))}."
    find_hint = partial(_similar_name, config, name, known)
    origin = origin_of(path)
    subject = origin.name if origin.kind == "flag" else f"`{dotted(path)}`"
    words = f"{subject} names an unknown provider."
    return ConfigProblem(words, origin, path, find_hint=find_hint)


def _similar_name(config: AppConfig, name: str, otherwise: str) -> str:
    near = nearest(name, chain(config.providers, config.aliases))
    return f"Did you mean `{near}`?" if near else otherwise


def resolve_names(config: AppConfig) -> AppConfig:
    """Remove names that lead nowhere, and aliases that are names of configured providers.

    Addresses below `[models]` get the names of providers in place of aliases. The default provider
    stays: what the user named is used, or the prompt fails.
    """
    providers = {n: p for n, p in config.providers.items() if PROVIDER_NAME.fullmatch(n)}
    aliases = {
        alias: target
        for alias, target in config.aliases.items()
        if target in providers and alias not in providers
    }
    models = {without_alias(name, aliases): overrides for name, overrides in config.models.items()}
    models |= {name: overrides for name, overrides in config.models.items() if name in models}
    return config.changed(providers=providers, aliases=aliases, models=models)


def without_alias(address: str, aliases: Mapping[str, str]) -> str:
    """Return an address with the provider's name in place of its alias."""
    scheme, mark, model = address.partition("://")
    return f"{aliases.get(scheme, scheme)}{mark}{model}"
