"""Speech in a chat: dictation into the input, and answers read aloud."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.voice.control import voice_on_screen
else:
    __getattr__ = lazy_names(__name__, {"control": ("voice_on_screen",)})

__all__ = ["voice_on_screen"]
