"""The variables OLLM_..., each of which is a setting; loaded if there are any."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict, SettingsError

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, Setting, leaves, nearest
from ollm_tui.config.paths import CONFIG_VARIABLE, VARIABLE_PREFIX
from ollm_tui.config.schema import AppConfig
from ollm_tui.sections.checked import model_of

NESTING = "__"


class _Variables(model_of(AppConfig), BaseSettings):  # type: ignore[misc]
    """The settings as variables of the environment."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=VARIABLE_PREFIX,
        env_nested_delimiter=NESTING,
        env_ignore_empty=True,
        case_sensitive=False,
    )


def own_settings(
    variables: Mapping[str, str], provider_names: frozenset[str], rank: int
) -> Iterator[Setting | ConfigProblem]:
    """Yield the settings of the variables, as one layer of that rank."""
    source = EnvSettingsSource(_Variables)
    for name, value in variables.items():
        yield from _own_variable(source, name, value, provider_names, rank)


def _own_variable(
    source: EnvSettingsSource, name: str, value: str, provider_names: frozenset[str], rank: int
) -> Iterator[Setting | ConfigProblem]:
    """Read one variable alone, so that an invalid one spoils no other."""
    origin = Origin("environment", name)
    path = tuple(name[len(VARIABLE_PREFIX) :].lower().split(NESTING))
    source.env_vars = {name.lower(): value}
    try:
        values = source()
    except SettingsError:
        at = _known_provider(path, provider_names)
        yield ConfigProblem(f"{name} must hold JSON.", origin, at)
        return
    if not values:
        yield _unknown(name, origin)
    for path, leaf in leaves(values):
        yield Setting(_known_provider(path, provider_names), leaf, origin, rank)


def _unknown(name: str, origin: Origin) -> ConfigProblem:
    known = [f"{VARIABLE_PREFIX}{field.upper()}" for field in AppConfig.declared()]
    near = nearest(name.upper().partition(NESTING)[0], [*known, CONFIG_VARIABLE])
    return ConfigProblem(
        f"There is no setting for {name}.",
        origin,
        hint=f"Did you mean {near}?" if near else None,
        severity="warning",
    )


def _known_provider(path: KeyPath, names: frozenset[str]) -> KeyPath:
    """Find the provider that a variable means: shells allow neither case differences nor `-`."""
    if len(path) < 3 or path[0] != "providers":
        return path
    wanted = path[1].replace("-", "_")
    name = next((n for n in names if n.lower().replace("-", "_") == wanted), path[1])
    return (path[0], name, *path[2:])
