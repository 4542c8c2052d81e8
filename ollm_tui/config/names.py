"""Names that settings refer to: aliases, and the provider to begin with."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted, nearest
from ollm_tui.config.schema import AppConfig

_MOST_NAMED = 20
PROVIDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def name_problems(
    config: AppConfig, origin_of: Callable[[KeyPath], Origin]
) -> Iterator[ConfigProblem]:
    """Say which names lead nowhere; `settle_names` leaves aliases out."""
    for name in config.providers:
        if PROVIDER_NAME.fullmatch(name) is None:
            path: KeyPath = ("providers", name)
            hint = "Use letters, digits, `.`, `_` and `-`."
            yield ConfigProblem(
                f"`{dotted(path)}` cannot be used in an address.", origin_of(path), path, hint=hint
            )
    for alias, target in config.aliases.items():
        if target not in config.providers:
            yield _nowhere(config, ("aliases", alias), target, origin_of)
    if config.provider is not None and not _leads(config, config.provider):
        yield _nowhere(config, ("provider",), config.provider, origin_of)


def _leads(config: AppConfig, name: str) -> bool:
    return name in config.providers or config.aliases.get(name) in config.providers


def _nowhere(
    config: AppConfig, path: KeyPath, name: str, origin_of: Callable[[KeyPath], Origin]
) -> ConfigProblem:
    def find_hint() -> str:
        near = nearest(name, chain(config.providers, config.aliases))
        known = ", ".join(islice(config.providers, _MOST_NAMED))
        return f"Did you mean `{near}`?" if near else f"Available: {known}."

    origin = origin_of(path)
    place = origin.name if origin.kind == "flag" else f"`{dotted(path)}`"
    words = f"{place} names an unknown provider."
    return ConfigProblem(words, origin, path, find_hint=find_hint)


def settle_names(config: AppConfig) -> AppConfig:
    """Leave out names that lead nowhere, and aliases that a configured provider has taken.

    The addresses of `[models]` get the names of providers in place of aliases.

    The provider to begin with stays: what was named is asked, or the prompt fails.
    """
    providers = {n: p for n, p in config.providers.items() if PROVIDER_NAME.fullmatch(n)}
    aliases = {
        alias: target
        for alias, target in config.aliases.items()
        if target in providers and alias not in providers
    }
    models = {by_provider(name, aliases): said for name, said in config.models.items()}
    models |= {name: said for name, said in config.models.items() if name in models}
    update = {"providers": providers, "aliases": aliases, "models": models}
    return config.model_copy(update=update)


def by_provider(address: str, aliases: Mapping[str, str]) -> str:
    """Write an address with the provider's name where it is written with an alias."""
    scheme, mark, model = address.partition("://")
    return f"{aliases.get(scheme, scheme)}{mark}{model}"
