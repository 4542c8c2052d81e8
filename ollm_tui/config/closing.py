"""Which providers cannot be used, and which nobody asked for."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ollm_tui.config.backends import BUILT_IN_PROVIDERS, LARGEST_AUTHORITIES, SERVICES
from ollm_tui.config.environment import ENGINE_VARIABLES
from ollm_tui.config.layers import Layers
from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.config.schema import ProviderSettings
from ollm_tui.config.values import BUILT_IN_KINDS

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
    """Give the providers with what closes each one, and whether anybody asked for it."""
    closing: dict[str, ConfigProblem] = {}
    for problem in problems:
        if closes(problem):
            closing.setdefault(problem.path[1], problem)
    return {
        name: settings.marked(
            problem=closing.get(name) or _unusable(name, settings, layers),
            preset=name not in configured,
        )
        for name, settings in sorted(providers.items(), key=lambda item: _place(item[0]))
    }


def _place(name: str) -> int:
    known = list(BUILT_IN_PROVIDERS)
    return known.index(name) if name in known else len(known)


def closes(problem: ConfigProblem) -> bool:
    """Whether a problem is about where a provider is or who may use it."""
    path = problem.path
    if problem.severity != "error" or path[:1] != ("providers",) or len(path) == 1:
        return False
    # A value that was refused, not a key that does not exist: there is nothing to replace it with.
    return len(path) == 2 or (
        path[2] in ProviderSettings.model_fields and path[2] not in _SAFE_TO_REPLACE
    )


def configured(layers: Layers) -> frozenset[str]:
    """Give the providers a person said anything about but what their key would be."""
    return frozenset(
        said.path[1]
        for said in layers.below(("providers",))
        if said.rank > 0 and said.path[1:] and said.origin.name not in _KEY_VARIABLES
    )


def _unusable(name: str, settings: ProviderSettings, layers: Layers) -> ConfigProblem | None:
    path: KeyPath = ("providers", name)
    said = next((s.origin for s in layers.below(path) if s.rank > 0), Origin("default"))
    # A plugin knows for itself whether it can do without an address.
    is_plugin = settings.kind not in BUILT_IN_KINDS
    has_address = settings.kind == "embedded" or settings.kind in SERVICES or is_plugin
    if not has_address and not settings.addresses:
        return ConfigProblem(
            f"The provider `{name}` has no address.",
            said,
            (*path, "base_url"),
            hint=f"Set base_url below [providers.{name}], or use --provider {name} --host URL.",
        )
    why = _no_authorities(settings.ca_file)
    if why is None:
        return None
    at = (*path, "ca_file")
    named = layers.top(at)
    origin = said if named is None else named.origin
    return ConfigProblem(f"`{dotted(at)}` names a file that cannot be used: {why}.", origin, at)


def _no_authorities(file: Path | None) -> str | None:
    """Say why a file cannot be one of authorities to trust."""
    try:
        if file is None or b"-----BEGIN" in read_bounded(file, LARGEST_AUTHORITIES):
            return None
    except (OSError, ValueError) as error:
        return why_unreadable(error)
    return "it holds no certificate in PEM form"
