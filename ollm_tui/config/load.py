"""Loads all settings: defaults < file < environment < command line; never fails, never writes.

A mistake uncovers the layer below, but a provider with a wrong address or key is not used at all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args, get_origin

from ollm_tui.config.backends import BUILT_IN_ALIASES, BUILT_IN_PROVIDERS
from ollm_tui.config.checks import (
    configured_providers,
    disables_provider,
    mark_providers,
    name_problems,
    reference_problems,
    resolve_names,
    without_alias,
)
from ollm_tui.config.complaints import complaint
from ollm_tui.config.connection import provider_defaults, resolve_connection
from ollm_tui.config.flags import Flags
from ollm_tui.config.keys.hub import blocking_problem, resolve_hub
from ollm_tui.config.keys.stored_keys import StoredKeys, drop_of_other_servers, stored_settings
from ollm_tui.config.origin import (
    DEFAULT,
    ConfigProblem,
    KeyPath,
    Layers,
    Origin,
    Setting,
    dotted,
    nearest,
)
from ollm_tui.config.paths import AppPaths, config_path, expanded
from ollm_tui.config.profiles import chosen_profile, profile_problems, profile_settings
from ollm_tui.config.regular_file import is_there
from ollm_tui.config.schema import AppConfig, ProfileSettings
from ollm_tui.config.sources import (
    environment_settings,
    exposed_key,
    file_settings,
    flag_settings,
    without_outdated_format,
    without_outdated_model,
)
from ollm_tui.config.toml_file import TomlFile, read_toml, toml_text
from ollm_tui.dataclass import dataclass, field
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError, Section

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Table = TypeVar("Table", bound=Section)
_MAX_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings, their origins, and the problems found."""

    config: AppConfig
    path: Path
    """The settings file, whether it exists or not."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By dotted key; a missing key has its default value."""
    problems: tuple[ConfigProblem, ...] = ()
    """To be reported at the start. A provider's undefined variable waits until it is used."""
    waiting: tuple[ConfigProblem, ...] = ()
    """To be reported by `ollm config check`, or where the value is used."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The environment that they were read with."""
    flags: Flags = field(default_factory=Flags, repr=False, compare=False)
    """The command line that they were read with."""

    def origin_of(self, key: str) -> Origin:
        """Return the origin of a value by its dotted key."""
        return self.origins.get(key, DEFAULT)

    @property
    def profile(self) -> ProfileSettings | None:
        """The chosen profile."""
        return self.config.profiles.get(self.config.profile or "")

    def without_saving(self) -> "LoadedConfig":
        """Return these settings for a runtime that does not touch the saved chats."""
        chat = self.config.chat.changed(save=False)
        return replace(self, config=self.config.changed(chat=chat))

    @property
    def all_problems(self) -> tuple[ConfigProblem, ...]:
        """The problems for `ollm config check`, also why configured providers cannot be used."""
        closed = [p.problem for p in self.config.providers.values() if p.problem and not p.preset]
        return tuple(dict.fromkeys([*self.problems, *closed, *self.waiting]))


class _Loading:
    """The settings so far, while one source after another is read."""

    def __init__(self) -> None:
        self.layers = Layers()
        self.problems: list[ConfigProblem] = []

    def take(self, items: Iterable[Setting | ConfigProblem]) -> None:
        """Sort what a source yields into settings and problems."""
        for item in items:
            if isinstance(item, Setting):
                self.layers.add(item)
            else:
                self.problems.append(item)

    def provider_names(self) -> tuple[str, ...]:
        """Return the presets and all providers named so far, in this order."""
        named = (s.path[1] for s in self.layers.below(("providers",)) if len(s.path) > 1)
        return tuple(dict.fromkeys([*BUILT_IN_PROVIDERS, *named, *self.failed_names()]))

    def failed_names(self) -> tuple[str, ...]:
        """Return the providers with settings that cannot be used."""
        paths = (problem.path for problem in self.problems)
        return tuple(path[1] for path in paths if path[:1] == ("providers",) and path[1:])

    def assume_defaults(self) -> None:
        """Add the defaults of each provider as the lowest layer."""
        for name in self.provider_names():
            if not any(setting.rank == 0 for setting in self.layers.below(("providers", name))):
                self.take(provider_defaults(name))

    def origin_of(self, path: KeyPath) -> Origin:
        """Return the origin of a key, or of the first value below it."""
        setting = self.layers.top(path) or next(iter(self.layers.below(path)), None)
        return setting.origin if setting else DEFAULT


def load_config(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags | None = None
) -> LoadedConfig:
    """Resolve every setting; the module's docstring explains what happens to mistakes."""
    flags = flags or Flags()
    path = config_path(paths, environ, flags.config_path)
    loading = _Loading()
    _read_sources(loading, path, environ, flags)
    keys = StoredKeys(paths.data_dir)
    loading.take(stored_settings(loading.layers, keys))
    return replace(_resolved(loading, path, environ, keys), flags=flags)


def problems_of_text(path: Path, text: str, environ: Mapping[str, str]) -> list[ConfigProblem]:
    """Return what would be wrong with a settings file that has this text.

    Values of the environment and the command line are left out: they would hide those of the file.
    """
    loading = _Loading()
    _read_file(loading, toml_text(path, text), environ)
    loading.assume_defaults()
    return [*_resolved(loading, path, environ).all_problems]


def _resolved(
    loading: _Loading, path: Path, environ: Mapping[str, str], keys: StoredKeys | None = None
) -> LoadedConfig:
    asked_for = configured_providers(loading.layers) | frozenset(loading.failed_names())
    for name in loading.provider_names():
        loading.take(resolve_connection(loading.layers, name, environ))
    loading.take(resolve_hub(loading.layers, environ))
    if keys is not None:
        loading.take(drop_of_other_servers(loading.layers, keys))
    config, misfits = validate(loading.layers)
    loading.problems.extend(misfits)
    config = _with_absolute_paths(config, path.absolute().parent)
    loading.take(name_problems(config, loading.origin_of))
    loading.take(profile_problems(config, loading.origin_of))
    providers = mark_providers(config.providers, loading.layers, loading.problems, asked_for)
    hub = config.hub.changed(problem=blocking_problem(loading.problems))
    config = config.changed(providers=providers, hub=hub, profile=chosen_profile(config))
    config = resolve_names(config)
    loading.take(reference_problems(config, loading.origin_of))
    origins = {
        dotted(_resolved_path(at, config.aliases)): setting.origin
        for at, setting in loading.layers.winners().items()
        if setting.rank > 0
    }
    at_once = [problem for problem in loading.problems if not problem.waits]
    warned = [p for p in loading.problems if p.waits and not disables_provider(p)]
    return LoadedConfig(config, path, origins, _in_order(at_once), _in_order(warned), environ)


def _resolved_path(path: KeyPath, aliases: Mapping[str, str]) -> KeyPath:
    """Return the path of a value after `resolve_names`."""
    match path:
        case ("models", str(address), *keys):
            return ("models", without_alias(address, aliases), *keys)
        case _:
            return path


def _read_sources(loading: _Loading, path: Path, environ: Mapping[str, str], flags: Flags) -> None:
    file = read_toml(path)
    if flags.config_path is not None and not is_there(path):
        origin = Origin("flag", "--config")
        words = f"There is no file {path}." if file.problem is None else f"{path} cannot be read."
        loading.problems.append(ConfigProblem(words, origin))
    _read_file(loading, file, environ)
    loading.take(exposed_key(file))
    names = frozenset(loading.provider_names())
    loading.take(environment_settings(environ, names))
    loading.assume_defaults()
    loading.take(flag_settings(flags, loading.layers))
    loading.take(profile_settings(loading.layers))
    loading.take(without_outdated_model(loading.layers))
    loading.take(without_outdated_format(loading.layers))
    loading.assume_defaults()


def _read_file(loading: _Loading, file: TomlFile, environ: Mapping[str, str]) -> None:
    loading.take(Setting(("aliases", a), name, DEFAULT, 0) for a, name in BUILT_IN_ALIASES.items())
    loading.take(file_settings(file, environ))


def _in_order(problems: Iterable[ConfigProblem]) -> tuple[ConfigProblem, ...]:
    return tuple(sorted(problems, key=lambda p: (p.origin.kind != "file", p.origin.line or 0)))


def _with_absolute_paths(config: AppConfig, folder: Path) -> AppConfig:
    """Make every path absolute, expanding `~`; relative ones start at the settings file."""
    providers = {name: _absolute(one, folder) for name, one in config.providers.items()}
    models = {name: _absolute(model, folder) for name, model in config.models.items()}
    profiles = {name: _absolute(one, folder) for name, one in config.profiles.items()}
    servers = {name: _absolute(one, folder) for name, one in config.mcp_servers.items()}
    # A relative root starts where the app was started, as it does without the setting.
    root = config.tools.root
    return config.changed(
        providers=providers,
        embedded=_absolute(config.embedded, folder),
        tools=config.tools.changed(root=expanded(root)) if root else config.tools,
        models=models,
        profiles=profiles,
        mcp_servers=servers,
    )


def _absolute(section: Table, folder: Path) -> Table:
    """Make the paths of a section absolute, single ones and lists."""
    update: dict[str, object] = {}
    for key in section.given:
        match getattr(section, key):
            case Path() as path:
                update[key] = folder / expanded(path)
            case [Path(), *_] as paths:
                update[key] = [folder / expanded(path) for path in paths]
    return section.changed(**update) if update else section


def validate(layers: Layers) -> tuple[AppConfig, list[ConfigProblem]]:
    """Return the valid settings and a problem for each value that had to be dropped."""
    problems: dict[str, ConfigProblem] = {}
    for _ in range(_MAX_ROUNDS):
        try:
            return read_section(AppConfig, layers.nested()), [*problems.values()]
        except MistakesError as error:
            details = error.mistakes
        for culprit, detail in _culprits(layers, details):
            layers.drop(culprit)
            problem = explain(detail, culprit.path, culprit.origin, culprit.value)
            # An unknown table is one mistake, however much it contains.
            problems.setdefault(problem.message, problem)
    return AppConfig(), [*problems.values()]


def _culprits(
    layers: Layers, details: Iterable["ErrorDetails"]
) -> "Iterable[tuple[Setting, ErrorDetails]]":
    """Find the value behind each complaint, once each: unions complain once per member."""
    culprits: dict[tuple[str, ...], tuple[Setting, ErrorDetails]] = {}
    for detail in details:
        for culprit in _culprit(layers, tuple(str(part) for part in detail["loc"])):
            culprits.setdefault(culprit.path, (culprit, detail))
    return culprits.values()


def _culprit(layers: Layers, location: tuple[str, ...]) -> tuple[Setting, ...]:
    for end in range(len(location), 0, -1):
        setting = layers.counting(location[:end])
        if setting is not None:
            return (setting,)
    # A table is invalid as a whole: everything that the user set in it is dropped.
    return tuple(setting for setting in layers.below(location) if setting.rank > 0)


def explain(
    error: "ErrorDetails", path: KeyPath, origin: Origin, value: object = None
) -> ConfigProblem:
    """Describe the mistake at `path`, without repeating the value."""
    if error["type"] == "extra_forbidden":
        path = path[: len(error["loc"])]
        message = f"Unknown setting `{dotted(path)}`."
        return ConfigProblem(message, origin, path, find_hint=partial(_known_here, path))
    message = f"`{dotted(path)}` {complaint(error)}."
    return ConfigProblem(message, origin, path, find_hint=partial(_intended_choice, error, value))


def _intended_choice(error: "ErrorDetails", value: object) -> str | None:
    position = error["loc"][-1]
    if isinstance(value, list) and isinstance(position, int):
        value = value[position]
    if error["type"] != "literal_error" or not isinstance(value, str):
        return None
    near = nearest(value, re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected"))))
    return f"Did you mean `{near}`?" if near else None


def _known_here(path: KeyPath) -> str | None:
    known = known_keys(path[:-1])
    near = nearest(path[-1], known)
    listed = f"Available: {', '.join(sorted(known))}." if known else None
    return f"Did you mean `{near}`?" if near else listed


def known_keys(table: KeyPath) -> tuple[str, ...]:
    """Return the keys that a table may have; those of the whole file for the empty path."""
    section: type[Section] = AppConfig
    steps = iter(table)
    for part in steps:
        one = section.declared().get(part)
        inner = _section_in(one.kind) if one else None
        if one is None or inner is None:
            return ()
        if get_origin(one.kind) is dict:  # what follows is a name that the user chose
            next(steps, None)
        section = inner
    return tuple(one.key for one in section.declared().values())


def _section_in(kind: object) -> type[Section] | None:
    if isinstance(kind, type) and issubclass(kind, Section):
        return kind
    return next((inner for one in get_args(kind) if (inner := _section_in(one)) is not None), None)
