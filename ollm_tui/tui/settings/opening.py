"""Opening the settings from the chat."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap, with_overrides
from ollm_tui.tui.services import Services
from ollm_tui.tui.widgets import ChatHeader

if TYPE_CHECKING:
    from ollm_tui.config.settings_file import SettingsFile
    from ollm_tui.tui.transcript import NavigableTranscript


class NamesKeys(Protocol):
    """The line that names the keys."""

    def redraw(self) -> None:
        """Name them anew."""


class ScreenParts(Protocol):
    """What the settings change on the chat screen, or are opened with."""

    @property
    def header(self) -> ChatHeader:
        """Names the model."""

    @property
    def transcript(self) -> "NavigableTranscript":
        """Shows the chat."""

    @property
    def dialogs(self) -> Dialogs:
        """Opens screens."""

    @property
    def keymap(self) -> Keymap:
        """The keys."""

    @property
    def key_hints(self) -> NamesKeys:
        """Names the keys of the chat."""

    @property
    def services(self) -> Services:
        """What the app was started with."""


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """Opens the settings screen over the chat."""

    file: "SettingsFile"
    parts: ScreenParts

    @property
    def dialogs(self) -> Dialogs:
        """Opens screens over the chat."""
        return self.parts.dialogs

    def show(self) -> None:
        """Load the screen, which many never open, and show it."""
        self.dialogs.run(self._show(), "view", is_exclusive=True)

    async def _show(self) -> None:
        await anyio.to_thread.run_sync(import_module, "ollm_tui.tui.settings.screen")
        # loaded by the line above, in a thread
        from ollm_tui.tui.settings.live import LiveSettings
        from ollm_tui.tui.settings.screen import SettingsScreen

        parts, themes = self.parts, self.parts.services.themes
        live = LiveSettings(
            parts.header.app,
            themes,
            self._stream_thinking,
            self._read_as,
            self._use_keys,
            parts.header.model,
        )
        self.dialogs.open(SettingsScreen(self.file, parts.keymap, themes, live))

    def _use_keys(self, overrides: Mapping[str, str]) -> None:
        keymap = with_overrides(overrides)
        self.parts.keymap.adopt(keymap)
        self.parts.header.app.set_keymap(dict(keymap.chosen))
        self.parts.key_hints.redraw()

    def _read_as(self, name: str, value: Any) -> None:
        self.parts.transcript.reading_mode.change(**{name: value})

    def _stream_thinking(self, is_on: bool) -> None:
        self.parts.transcript.folding.streams_thinking = is_on
