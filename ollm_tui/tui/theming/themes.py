"""Themes: finds the TOML files of themes and reads them as Textual themes.

A theme file names the colours of `textual.theme.Theme` at its top level and any further CSS
variables below `[variables]`. Only the chosen theme is read before the first frame.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from ollm_tui.config.origin import nearest
from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.config.toml_file import toml_values

DEFAULT_THEME = "dusk"

_REQUIRED = ("primary", "foreground", "background")
_COLOURS = (
    *_REQUIRED,
    *("secondary", "accent", "success", "warning", "error", "surface", "panel", "boost"),
)
_FLAGS = ("dark", "ansi")
_MOST_NAMED = 20
_OTHER = ("label", "variables")


class ThemeProblem(ValueError):
    """A theme file that cannot be used, and the reason."""

    def __init__(self, path: Path, reason: str, hint: str | None = None) -> None:
        sentence = f"The theme {path.name} cannot be used: {reason}."
        super().__init__(f"{sentence} {hint}" if hint else sentence)


def bundled_folder() -> Path:
    """Return the folder of the themes that come with the app, installed or in a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def read_theme(path: Path) -> Theme:
    """Read a theme; its name is that of the file.

    Raises:
        ThemeProblem: the file cannot be read or is not a valid theme.
    """
    try:
        data = toml_values(path)
    except tomllib.TOMLDecodeError as error:
        raise ThemeProblem(path, f"it is not TOML ({error})") from error
    except (OSError, ValueError) as error:
        raise ThemeProblem(path, why_unreadable(error)) from error
    return _theme(path, data)


def _theme(path: Path, data: Mapping[str, object]) -> Theme:
    unknown = sorted(set(data) - {*_COLOURS, *_FLAGS, *_OTHER})
    if unknown:
        raise ThemeProblem(path, f"it has no setting named {unknown[0]}")
    for name in _REQUIRED:
        if name not in data:
            raise ThemeProblem(path, f"{name} is missing")
    settings: dict[str, Any] = {
        **{name: _colour(path, name, data[name]) for name in _COLOURS if name in data},
        **{name: _flag(path, name, data[name]) for name in _FLAGS if name in data},
    }
    return Theme(path.stem, **settings, variables=_variables(path, data.get("variables", {})))


def _colour(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ThemeProblem(path, f"{name} is not a text")
    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ThemeProblem(path, f"{name} is not a colour: {value}") from error
    return value


def _flag(path: Path, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ThemeProblem(path, f"{name} is neither true nor false")
    return value


def _variables(path: Path, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ThemeProblem(path, "variables is not a table")
    if wrong := [name for name, text in value.items() if not isinstance(text, str)]:
        raise ThemeProblem(path, f"the variable {wrong[0]} is not a text")
    return dict(value)


def _themes_in(folder: Path) -> Sequence[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == ".toml"]
    except OSError:  # missing or not readable
        return ()


@dataclass(frozen=True)
class ThemeCatalog:
    """The themes by name; a file of a later folder replaces one of an earlier folder.

    Themes of plugins replace none. Plugins are searched once, and only to list all themes or for
    a name that no folder has.
    """

    folders: tuple[Path, ...] = field(default_factory=lambda: (bundled_folder(),))

    def _own_themes(self) -> dict[str, Path]:
        return {path.stem: path for folder in self.folders for path in _themes_in(folder)}

    @cached_property
    def _plugin_themes(self) -> dict[str, Path]:
        # reads the metadata of all installed packages, which few starts need
        from ollm_tui.config.plugins import find_plugins, plugin_folder

        places = [(one.name, plugin_folder(one)) for one in find_plugins("themes")]
        return {name: folder / f"{name}.toml" for name, folder in places if folder}

    def names(self) -> tuple[str, ...]:
        """Return the names of all themes, usable or not."""
        return tuple(sorted({*self._plugin_themes, *self._own_themes()}))

    def load(self, name: str) -> Theme:
        """Read one theme.

        Raises:
            ThemeProblem: there is no theme of that name, or its file is not valid.
        """
        path = self._own_themes().get(name) or self._plugin_themes.get(name)
        if path is None:
            near = nearest(name, self.names())
            known = ", ".join(self.names()[:_MOST_NAMED])
            hint = f"Did you mean {near}?" if near else f"Available: {known}."
            raise ThemeProblem(Path(name), "there is none of that name", hint)
        return read_theme(path)
