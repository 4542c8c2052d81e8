"""Speech in a chat: dictation into the input, and answers read aloud."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.voice.control import VoiceControl
else:
    __getattr__ = lazy_names(__name__, {"control": ("VoiceControl",)})

__all__ = ["VoiceControl"]
