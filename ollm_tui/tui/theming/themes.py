"""Themes: finds the TOML files of themes and reads them as Textual themes.

A theme file names the colours of `textual.theme.Theme` at its top level and any further CSS
variables below `[variables]`. Only the chosen theme is read before the first frame.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.color import Color, ColorParseError
from textual.theme import Theme

from ollm_tui.config.origin import nearest
from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.config.toml_file import read_toml, toml_values
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re

if TYPE_CHECKING:
    from textual.app import App

DEFAULT_THEME = "dusk"

_REQUIRED = ("primary", "foreground", "background")
_COLOURS = (
    *_REQUIRED,
    *("secondary", "accent", "success", "warning", "error", "surface", "panel", "boost"),
)
STYLES: Final = frozenset({"none", "bold", "dim", "italic", "underline", "reverse", "strike"})
_STRENGTH: Final = lazy_re(r"\s+\d{1,3}(?:\.\d+)?%\Z")
_FLAGS = ("dark", "ansi")
_MAX_NAMED = 20
_OTHER = ("label", "variables")


class ThemeProblem(ValueError):
    """A theme file that cannot be used, and the reason."""

    def __init__(
        self, path: Path, reason: str, hint: str | None = None, *, line: int | None = None
    ) -> None:
        place = f"{path.name}, line {line}," if line is not None else path.name
        sentence = f"The theme {place} cannot be used: {reason}."
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
        problem = read_toml(path).problem
        line = problem.origin.line if problem is not None else None
        raise ThemeProblem(path, f"it is not TOML ({error})", line=line) from error
    except (OSError, ValueError) as error:
        raise ThemeProblem(path, why_unreadable(error)) from error
    return _theme(path, data)


def _theme(path: Path, data: Mapping[str, object]) -> Theme:
    unknown = sorted(set(data) - {*_COLOURS, *_FLAGS, *_OTHER})
    if unknown:
        raise _wrong(path, f"a theme has no setting named {unknown[0]}", unknown[0])
    for name in _REQUIRED:
        if name not in data:
            raise ThemeProblem(path, f"{name} is missing")
    settings: dict[str, Any] = {
        **{name: _colour(path, name, data[name]) for name in _COLOURS if name in data},
        **{name: _flag(path, name, data[name]) for name in _FLAGS if name in data},
    }
    variables = _variables(path, data.get("variables", {}))
    # Textual gives it to themes with colours of their own only, and a style sheet needs it.
    variables.setdefault("foreground-disabled", f"{settings['foreground']} 25%")
    return Theme(path.stem, **settings, variables=variables)


def _colour(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(path, f"{name} is not a text", name)
    if not _is_colour(value):
        raise _wrong(path, f"{name} is not a colour: {value}", name)
    return value


def _is_colour(text: str) -> bool:
    try:
        Color.parse(text)
    except ColorParseError:
        return False
    return True


def _wrong(path: Path, reason: str, *keys: str) -> ThemeProblem:
    """Return a problem with the line of a key, for which the file is read once more."""
    return ThemeProblem(path, reason, line=read_toml(path).lines.get(keys))


def _flag(path: Path, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(path, f"{name} is neither true nor false", name)
    return value


def _variables(path: Path, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _wrong(path, "variables is not a table", "variables")
    for name, text in value.items():
        if not isinstance(text, str):
            raise _wrong(path, f"the variable {name} is not a text", "variables", name)
        if not _fits(name, text):
            reason = f"the variable {name} cannot be {text}"
            raise _wrong(path, reason, "variables", name)
    return dict(value)


def _fits(name: str, text: str) -> bool:
    """Return whether the style sheets can use a value: one that they cannot would end the app."""
    if name.endswith("-style"):
        return bool(text.split()) and STYLES.issuperset(text.split())
    colour = _STRENGTH.sub("", text.strip())
    return colour == "auto" or _is_colour(colour)


def _themes_in(folder: Path) -> Sequence[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == ".toml"]
    except OSError:  # missing or not readable
        return ()


def put_on(app: "App[Any]", theme: Theme) -> None:
    """Show a theme at once, also one whose file has changed since it was put on."""
    app.register_theme(theme)
    if app.theme == theme.name:
        app._watch_theme(theme.name)
    else:
        app.theme = theme.name


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
            known = ", ".join(self.names()[:_MAX_NAMED])
            hint = f"Did you mean {near}?" if near else f"Available: {known}."
            raise ThemeProblem(Path(name), "there is none of that name", hint)
        return read_theme(path)
