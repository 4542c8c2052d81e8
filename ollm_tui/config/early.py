"""Settings for the first frame: theme, keys and screen; read with the standard library alone."""

from collections.abc import Iterator, Mapping

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths, config_path
from ollm_tui.config.toml_file import toml_values
from ollm_tui.dataclass import dataclass, field

DEFAULT_THEME = "dusk"
NO_COLOR_THEME = "terminal"
"""The default if NO_COLOR is set: the terminal's own background, see no-color.org."""
_OFF = frozenset({"0", "off", "f", "false", "n", "no"})


@dataclass(frozen=True, slots=True)
class EarlySettings:
    """The settings needed before anything is drawn."""

    theme: str = DEFAULT_THEME
    keymap: Mapping[str, str] = field(default_factory=dict)
    show_thinking: bool = True
    show_stats: bool = True
    maths: bool = True
    times: bool = False
    pictures: str = "auto"
    mouse: bool = True
    animations: bool = True
    screen_reader: bool = False
    """Whether the chat is written in lines."""
    problem: str | None = None
    """Why the file could not be read; the full settings report it in detail a moment later."""


def early_settings(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags | None = None
) -> EarlySettings:
    """Read theme and key map; what is missing or of the wrong type is the default."""
    flags = flags or Flags()
    values, problem = _read(paths, environ, flags)
    theme = values.get("theme")
    usual = NO_COLOR_THEME if environ.get("NO_COLOR") else DEFAULT_THEME
    in_file = theme if isinstance(theme, str) and theme and "${" not in theme else usual
    keys = values.get("keymap")
    keymap = dict(_bindings(keys)) if isinstance(keys, dict) else {}
    return EarlySettings(
        flags.theme or environ.get("OLLM_THEME") or in_file,
        keymap,
        **{
            name: _switch(name, values, environ)
            for name in ("show_thinking", "show_stats", "maths", "times", "mouse", "animations")
        },
        pictures=_text("pictures", values, environ, "auto"),
        screen_reader=_wants_lines(values, environ, flags),
        problem=problem,
    )


def _wants_lines(values: Mapping[str, object], environ: Mapping[str, str], flags: Flags) -> bool:
    if flags.screen_reader is not None:
        return flags.screen_reader
    switch = environ.get("OLLM_SCREEN_READER") or values.get("screen_reader", False)
    return switch.lower() not in _OFF if isinstance(switch, str) else switch is True


def _text(name: str, values: Mapping[str, object], environ: Mapping[str, str], default: str) -> str:
    """Read a text of `[ui]`; the environment wins."""
    table = values.get("ui")
    in_file = table.get(name) if isinstance(table, dict) else None
    return environ.get(f"OLLM_UI__{name.upper()}") or (
        in_file if isinstance(in_file, str) else default
    )


def _switch(name: str, values: Mapping[str, object], environ: Mapping[str, str]) -> bool:
    """Read a switch of `[ui]`; the environment wins."""
    table = values.get("ui")
    usual = getattr(EarlySettings(), name) and not (name == "mouse" and _holds_escape(environ))
    in_file = table.get(name, usual) if isinstance(table, dict) else usual
    switch = environ.get(f"OLLM_UI__{name.upper()}") or in_file
    return switch.lower() not in _OFF if isinstance(switch, str) else switch is not False


def _holds_escape(environ: Mapping[str, str]) -> bool:
    """Whether this is GNU screen, where Esc waits for another key while the mouse is on."""
    return "STY" in environ and "TMUX" not in environ


def _bindings(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield id and keys; `chat.send = ...` below [keymap] means the id "chat.send"."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _bindings(value, f"{above}{key}.")
        elif isinstance(value, str):
            yield f"{above}{key}", value


def _read(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags
) -> tuple[Mapping[str, object], str | None]:
    path = config_path(paths, environ, flags.config_path)
    try:
        return toml_values(path), None
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError):
        return {}, f"{path} cannot be read; the defaults are used."
