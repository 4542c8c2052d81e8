"""Plugins: installed packages with providers, tools, commands or themes.

Their entry points are in groups such as `ollm_tui.tools`; finding them imports no package.
"""

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from ollm_tui.config.foreign import Misuse, Redact, foreign_code
from ollm_tui.config.regular_file import TooLongError, read_bounded
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group: TypeAlias = Literal["providers", "tools", "commands", "themes"]
T = TypeVar("T")

PREFIX = "ollm_tui."
_MAX_BYTES: Final = 1_000_000
_METADATA: Final = (".dist-info", ".egg-info")
_NAME = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_VERSION = lazy_re(r"[A-Za-z0-9.!+_-]{1,32}")
_MODULE = lazy_re(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of an installed package."""

    group: Group
    name: str
    """What the user types: a provider's kind, or the name of a tool, a command or a theme."""
    package: str
    """Empty if its metadata has no usable name."""
    version: str
    entry: "EntryPoint" = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """The package and its version."""
        return f"{self.package or '(unnamed package)'} {self.version}".strip()

    def load(self) -> object:
        """Import the object that the entry point names; ENGINE_ERROR if that fails."""
        with self.translated("could not be loaded"):
            return self.entry.load()

    @contextmanager
    def translated(self, failed: str, redact: Redact = str) -> Iterator[None]:
        """Translate every exception of a plugin to an `AIError`, so that the program continues.

        What it prints goes to standard error, because standard output belongs to the answer.
        """

        def problem(error: BaseException) -> AIError:
            return self.problem(f"{failed} {_reason(error)}")

        log = f"The plugin {self.title} {failed}"
        with foreign_code(log, problem, redact), redirect_stdout(sys.stderr):
            yield

    def problem(self, what: str) -> AIError:
        """Make the error for a plugin that cannot be used."""
        where = f"the entry point `{self.name}` of `{PREFIX}{self.group}`"
        hint = f"Remove the package with {where}."
        if self.package:
            hint = f"Update it, or remove it with `pip uninstall {self.package}`."
        return AIError(
            ErrorCode.ENGINE_ERROR, f"The plugin {self.title} {what.rstrip('.')}.", hint=hint
        )


def _reason(error: BaseException) -> str:
    """Return why a plugin failed, without its own message, which may contain a key."""
    name = type(error).__name__
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if isinstance(missing, str) and _MODULE.fullmatch(missing):
        return f"({name}: {missing})"
    if isinstance(error, Misuse):
        return f"({error})"
    return f"({name})"


def find_plugins(group: Group) -> tuple[Plugin, ...]:
    """Return the plugins of a group, by package and name, without importing any."""
    if not may_have_plugins():
        return ()
    # Costs 10 ms and a look into every installed package, of which few are plugins.
    from importlib.metadata import entry_points

    try:
        entries = entry_points(group=f"{PREFIX}{group}")
    # One damaged package among all installed ones must not end the program.
    except Exception:
        logger.exception("The entry points of the installed packages could not be read")
        return ()
    plugins = (_plugin(group, entry) for entry in entries if _NAME.fullmatch(entry.name))
    return tuple(sorted(plugins, key=lambda one: (one.package.casefold(), one.name)))


def _plugin(group: Group, entry: "EntryPoint") -> Plugin:
    try:
        metadata = {} if entry.dist is None else entry.dist.metadata.json
    except Exception:
        logger.exception("The metadata of the plugin %s could not be read", entry.name)
        metadata = {}
    name, version = (str(metadata.get(key, "")) for key in ("name", "version"))
    return Plugin(
        group,
        entry.name,
        name if _NAME.fullmatch(name) else "",
        version if _VERSION.fullmatch(version) else "",
        entry,
    )


def may_have_plugins() -> bool:
    """Return whether a package has plugins of any group; True if that cannot be seen; blocks."""
    if any(
        finder is not PathFinder and hasattr(finder, "find_distributions")
        for finder in sys.meta_path
    ):
        return True
    return any(map(_may_hold_plugins, dict.fromkeys(sys.path)))


def _may_hold_plugins(place: str) -> bool:
    if place.endswith(".egg"):  # its metadata have another name
        return True
    try:
        with os.scandir(place or ".") as entries:
            infos = [Path(one) for one in entries if one.name.lower().endswith(_METADATA)]
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or a folder that cannot be read
        return True
    return any(map(_names_groups, infos))


def _names_groups(info: Path) -> bool:
    try:
        return f"[{PREFIX}".encode() in read_bounded(info / "entry_points.txt", _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, TooLongError):
        return True


def plugin_names(group: Group) -> tuple[str, ...]:
    """Return the names of the plugins of a group, each once."""
    return tuple(dict.fromkeys(plugin.name for plugin in find_plugins(group)))


def load_plugins(
    group: Group, expected: type[T], use: Callable[[Plugin, T], object], taken: Collection[str] = ()
) -> list[str]:
    """Import the plugins of a group and `use` those that fit; return a sentence for each other one.

    `use` raises `AIError` for one that does not fit after all. A plugin never replaces what exists:
    neither a name in `taken` nor another plugin.
    """
    problems: list[str] = []
    names = {name.casefold() for name in taken}
    for plugin in find_plugins(group):
        try:
            _use(plugin, expected, use, names)
        except AIError as error:
            problems.append(str(error))
        else:
            names.add(plugin.name.casefold())
    return problems


def _use(
    plugin: Plugin, expected: type[T], use: Callable[[Plugin, T], object], taken: Collection[str]
) -> None:
    if plugin.name.casefold() in taken:
        raise plugin.problem(f"provides {plugin.name!r}, but that name is already taken")
    value = plugin.load()
    with plugin.translated("cannot be used"):  # a look at its attributes may run foreign code
        if not isinstance(value, expected):
            word = expected.__name__.lower()
            raise plugin.problem(f"provides {plugin.name!r}, but it is not a {word}")
        use(plugin, value)


def plugin_folder(plugin: Plugin) -> Path | None:
    """Return the folder of the package that an entry point names, without importing it.

    Return None if there is no such package.
    """
    first, *rest = plugin.entry.value.partition(":")[0].strip().split(".")
    try:
        spec = find_spec(first)
        name = first
        for part in rest:
            name = f"{name}.{part}"
            locations = None if spec is None else spec.submodule_search_locations
            spec = None if locations is None else PathFinder.find_spec(name, list(locations))
    except (ImportError, ValueError):  # a name that is none, or a package that was made by hand
        return None
    locations = None if spec is None else spec.submodule_search_locations
    return next((Path(location) for location in locations or ()), None)
