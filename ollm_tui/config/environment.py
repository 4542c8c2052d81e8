"""Settings from environment variables."""

from collections.abc import Iterator, Mapping

from pydantic_settings import EnvSettingsSource, SettingsError

from ollm_tui.config.backends import PRESETS
from ollm_tui.config.layers import Setting, leaves
from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, nearest
from ollm_tui.config.paths import CONFIG_VARIABLE
from ollm_tui.config.schema import ENVIRONMENT_PREFIX, NESTING, AppConfig

ENGINE_VARIABLES: Mapping[str, KeyPath] = {
    **{
        variable: ("providers", name, key)
        for name, row in PRESETS.items()
        for variable, key in ((row.host_variable, "base_url"), (row.key_variable, "api_key"))
        if variable
    },
    "HF_ENDPOINT": ("hub", "endpoint"),
    "HUGGING_FACE_HUB_TOKEN": ("hub", "token"),
    "HF_TOKEN": ("hub", "token"),
}
ENVIRONMENT_RANK = 2


def environment_settings(
    environ: Mapping[str, str], provider_names: frozenset[str]
) -> Iterator[Setting | ConfigProblem]:
    """Give what the environment says; OLLM_ variables win over those of the engines."""
    for name, path in ENGINE_VARIABLES.items():
        if environ.get(name, "").strip():
            yield Setting(path, environ[name], Origin("environment", name), ENVIRONMENT_RANK)
    source = EnvSettingsSource(AppConfig)
    for name in sorted(environ):
        if (
            name.upper().startswith(ENVIRONMENT_PREFIX)
            and name != CONFIG_VARIABLE
            and environ[name]
        ):
            yield from _own_variable(source, name, environ[name], provider_names)


def _own_variable(
    source: EnvSettingsSource, name: str, value: str, provider_names: frozenset[str]
) -> Iterator[Setting | ConfigProblem]:
    """Read one variable alone, so that a bad one spoils no other and its name is known."""
    origin = Origin("environment", name)
    path = tuple(name[len(ENVIRONMENT_PREFIX) :].lower().split(NESTING))
    source.env_vars = {name.lower(): value}
    try:
        found = source()
    except SettingsError:
        known = _known_provider(path, provider_names)
        yield ConfigProblem(f"{name} must hold JSON.", origin, known)
        return
    if not found:
        yield _unknown(name, origin)
    for path, said in leaves(found):
        yield Setting(_known_provider(path, provider_names), said, origin, ENVIRONMENT_RANK)


def _unknown(name: str, origin: Origin) -> ConfigProblem:
    known = [f"{ENVIRONMENT_PREFIX}{field.upper()}" for field in AppConfig.model_fields]
    near = nearest(name.upper().partition(NESTING)[0], [*known, CONFIG_VARIABLE])
    return ConfigProblem(
        f"There is no setting for {name}.",
        origin,
        hint=f"Did you mean {near}?" if near else None,
        severity="warning",
    )


def _known_provider(path: KeyPath, names: frozenset[str]) -> KeyPath:
    """Find the provider a variable means: shells allow neither capitals' difference nor `-`."""
    if len(path) < 3 or path[0] != "providers":
        return path
    meant = next(
        (n for n in names if n.lower().replace("-", "_") == path[1].replace("-", "_")), None
    )
    return (path[0], meant or path[1], *path[2:])
