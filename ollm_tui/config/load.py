"""Load all settings: defaults < file < environment < command line.

Loading never fails and never writes. What is wrong becomes a `ConfigProblem`, and the value below
it counts; a provider whose address or key is wrong is closed instead, because another address or
no key would send a request to the wrong place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ollm_tui.config.backends import BUILT_IN_ALIASES, BUILT_IN_PROVIDERS
from ollm_tui.config.checks import (
    by_provider,
    closes,
    configured,
    mark_providers,
    name_problems,
    reference_problems,
    root_problem,
    settle_names,
)
from ollm_tui.config.connection import prepare, provider_defaults
from ollm_tui.config.flags import Flags
from ollm_tui.config.hub import closing, prepare_hub
from ollm_tui.config.origin import DEFAULT, ConfigProblem, KeyPath, Layers, Origin, Setting, dotted
from ollm_tui.config.paths import AppPaths, config_path, expanded
from ollm_tui.config.regular_file import is_there
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.sources import (
    environment_settings,
    exposure,
    file_settings,
    flag_settings,
    newer_provider,
)
from ollm_tui.config.toml_file import read_toml
from ollm_tui.config.validate import fit


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings, where each came from, and what was wrong."""

    config: AppConfig
    path: Path
    """The settings file, whether it is there or not."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By dotted key; a key that is not here has its default."""
    problems: tuple[ConfigProblem, ...] = ()
    """To be said at the start. A provider's undefined variable waits until it is used."""
    waiting: tuple[ConfigProblem, ...] = ()
    """To be said by `ollm config check`, or where the value is used."""

    def origin_of(self, key: str) -> Origin:
        """Give the place of a value by its dotted key."""
        return self.origins.get(key, DEFAULT)

    def without_saving(self) -> "LoadedConfig":
        """Give these settings for a runtime that leaves the saved chats alone."""
        chat = self.config.chat.model_copy(update={"save": False})
        return replace(self, config=self.config.model_copy(update={"chat": chat}))

    @property
    def all_problems(self) -> tuple[ConfigProblem, ...]:
        """What `ollm config check` reports: also why configured providers are closed."""
        closed = [p.problem for p in self.config.providers.values() if p.problem and not p.preset]
        return tuple(dict.fromkeys([*self.problems, *closed, *self.waiting]))


class _Loading:
    """What is known so far, while one source after another is read."""

    def __init__(self) -> None:
        self.layers = Layers()
        self.problems: list[ConfigProblem] = []

    def take(self, said: Iterable[Setting | ConfigProblem]) -> None:
        """Sort what a source says into settings and problems."""
        for item in said:
            if isinstance(item, Setting):
                self.layers.add(item)
            else:
                self.problems.append(item)

    def provider_names(self) -> tuple[str, ...]:
        """Give the built-in providers and all that were named so far, in this order."""
        named = (said.path[1] for said in self.layers.below(("providers",)) if len(said.path) > 1)
        return tuple(dict.fromkeys([*BUILT_IN_PROVIDERS, *named, *self.failed_names()]))

    def failed_names(self) -> tuple[str, ...]:
        """Give the providers about which something was said that cannot be used."""
        paths = (problem.path for problem in self.problems)
        return tuple(path[1] for path in paths if path[:1] == ("providers",) and path[1:])

    def assume_defaults(self) -> None:
        """Lay the defaults of each provider below what was said about it."""
        for name in self.provider_names():
            if not any(said.rank == 0 for said in self.layers.below(("providers", name))):
                self.take(provider_defaults(name))

    def origin_of(self, path: KeyPath) -> Origin:
        """Give the place of a key, or of the first thing said below it."""
        said = self.layers.top(path) or next(iter(self.layers.below(path)), None)
        return said.origin if said else DEFAULT


def load_config(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags | None = None
) -> LoadedConfig:
    """Resolve every setting; see the module for what happens to mistakes."""
    flags = flags or Flags()
    path = config_path(paths, environ, flags.config_path)
    loading = _Loading()
    _read_sources(loading, path, environ, flags)
    asked_for = configured(loading.layers) | frozenset(loading.failed_names())
    for name in loading.provider_names():
        loading.take(prepare(loading.layers, name, environ))
    loading.take(prepare_hub(loading.layers, environ))
    config, misfits = fit(loading.layers)
    loading.problems.extend(misfits)
    config = _with_whole_paths(config, path.absolute().parent)
    loading.take(name_problems(config, loading.origin_of))
    providers = mark_providers(config.providers, loading.layers, loading.problems, asked_for)
    hub = config.hub.marked(closing(loading.problems))
    config = settle_names(config.model_copy(update={"providers": providers, "hub": hub}))
    unusable_root = root_problem(config, loading.origin_of)
    loading.take([] if unusable_root is None else [unusable_root])
    loading.take(reference_problems(config, loading.origin_of))
    origins = {
        dotted(_settled(at, config.aliases)): said.origin
        for at, said in loading.layers.winners().items()
        if said.rank > 0
    }
    at_once = [problem for problem in loading.problems if not problem.waits]
    warned = [p for p in loading.problems if p.waits and not closes(p)]
    return LoadedConfig(config, path, origins, _in_order(at_once), _in_order(warned))


def _settled(path: KeyPath, aliases: Mapping[str, str]) -> KeyPath:
    """Give the path of a value as `settle_names` leaves it."""
    match path:
        case ("models", str(address), *keys):
            return ("models", by_provider(address, aliases), *keys)
        case _:
            return path


def _read_sources(loading: _Loading, path: Path, environ: Mapping[str, str], flags: Flags) -> None:
    file = read_toml(path)
    if flags.config_path is not None and not is_there(path):
        origin = Origin("flag", "--config")
        words = f"There is no file {path}." if file.problem is None else f"{path} cannot be read."
        loading.problems.append(ConfigProblem(words, origin))
    for alias, target in BUILT_IN_ALIASES.items():
        loading.take([Setting(("aliases", alias), target, DEFAULT, 0)])
    loading.take(file_settings(file, environ))
    exposed = exposure(file)
    loading.take([exposed] if exposed else [])
    names = frozenset(loading.provider_names())
    loading.take(environment_settings(environ, names))
    loading.assume_defaults()
    loading.take(flag_settings(flags, loading.layers))
    loading.take(newer_provider(loading.layers))
    loading.assume_defaults()


def _in_order(problems: Iterable[ConfigProblem]) -> tuple[ConfigProblem, ...]:
    """Give the problems of the file in its order, and then the others."""
    return tuple(sorted(problems, key=lambda p: (p.origin.kind != "file", p.origin.line or 0)))


def _with_whole_paths(config: AppConfig, folder: Path) -> AppConfig:
    """Make every path absolute: `~` is the home, and a relative one begins at the settings file."""
    providers = {
        name: settings.model_copy(update={"ca_file": _whole(settings.ca_file, folder)})
        if settings.ca_file
        else settings
        for name, settings in config.providers.items()
    }
    folders = [_whole(path, folder) for path in config.embedded.model_folders]
    embedded = config.embedded.model_copy(update={"model_folders": folders})
    # A relative root begins where the app was started, as without one.
    root = config.tools.root
    tools = config.tools.model_copy(update={"root": expanded(root) if root else None})
    return config.model_copy(update={"providers": providers, "embedded": embedded, "tools": tools})


def _whole(path: Path, folder: Path) -> Path:
    return folder / expanded(path)
