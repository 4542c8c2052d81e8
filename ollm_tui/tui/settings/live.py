"""The settings that act at once, in the app that is running."""

from typing import TYPE_CHECKING, Any

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import KeyPath
from ollm_tui.tui.graphics import protocol_for
from ollm_tui.tui.keys import with_overrides
from ollm_tui.tui.theming import ThemeCatalog, ThemeProblem, put_on
from ollm_tui.tui.widgets import TextField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from textual.app import App


class LiveSettings:
    """Applies a changed setting to the screens, as far as they can change while they are open."""

    def __init__(
        self,
        app: "App[Any]",
        themes: ThemeCatalog,
        stream_thinking: "Callable[[bool], None]",
        read_as: "Callable[[str, object], None]",
        use_keys: "Callable[[Mapping[str, str]], None]",
        model: tuple[str, str] = ("", ""),
    ) -> None:
        self.model = model
        """The model in use and its provider, for the header."""
        self._app = app
        self._themes = themes
        self._appliers: Mapping[KeyPath, Callable[[LoadedConfig], None]] = {
            ("theme",): self._put_on,
            ("ui", "show_thinking"): lambda now: stream_thinking(now.config.ui.show_thinking),
            ("ui", "maths"): lambda now: read_as("maths", now.config.ui.maths),
            ("ui", "show_stats"): lambda now: read_as("stats", now.config.ui.show_stats),
            ("ui", "times"): lambda now: read_as("times", now.config.ui.times),
            ("ui", "pictures"): lambda now: read_as(
                "pictures", protocol_for(now.config.ui.pictures)
            ),
            ("ui", "animations"): self._animate,
            ("keymap",): lambda now: use_keys(now.config.keymap),
        }

    def acts_at_once(self, path: KeyPath) -> bool:
        """Whether a setting acts without a restart."""
        return _kind(path) in self._appliers

    def apply(self, path: KeyPath, loaded: LoadedConfig) -> None:
        """Let a changed setting act, if it can."""
        if (applier := self._appliers.get(_kind(path))) is not None:
            applier(loaded)

    def check(self, path: KeyPath, value: object) -> str | None:
        """Return what is wrong with a theme or a key; the schema does not know them."""
        if path == ("theme",):
            try:
                self._themes.load(str(value))
            except ThemeProblem as problem:
                return str(problem)
        if path == ("keymap",) and isinstance(value, dict):
            refused = with_overrides({str(key): str(name) for key, name in value.items()}).refused
            return str(refused[0]) if refused else None
        return None

    def _put_on(self, loaded: LoadedConfig) -> None:
        try:
            theme = self._themes.load(loaded.config.theme)
        except ThemeProblem:  # a variable or a flag names it; the start says so
            return
        put_on(self._app, theme)

    def _animate(self, loaded: LoadedConfig) -> None:
        is_on = loaded.config.ui.animations
        self._app.animation_level = "full" if is_on else "none"
        for screen in self._app.screen_stack:
            for field in screen.query(TextField):
                field.cursor_blink = is_on


def _kind(path: KeyPath) -> KeyPath:
    """Return the path that names what a setting changes: one key changes the keymap."""
    return path[:1] if path[:1] == ("keymap",) else path
