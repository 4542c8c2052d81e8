"""Dictation and reading aloud on the chat screen: what is said goes into the input."""

from typing import TYPE_CHECKING

from ollm_tui.frontend.voice_control import VoiceControl
from ollm_tui.tui.composer import Composer
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Say
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.tui.voice.line import VoiceLine


def voice_on_screen(
    runtime: "Runtime",
    composer: Composer,
    hints: HintLine,
    dialogs: Dialogs,
    keymap: Keymap,
    say: Say,
) -> VoiceControl:
    """Return what dictates into the input and reads aloud, with a line below the input."""

    def line() -> "VoiceLine":
        # drawn when speech is used
        from ollm_tui.tui.voice.line import VoiceLine

        line = VoiceLine(keymap.key_for)
        composer.screen.mount(line, after=composer)
        return line

    return VoiceControl(
        runtime,
        line,
        composer.insert_dictated,
        dialogs.run,
        lambda: hints.flash("Dictation cancelled", FLASH_S),
        say,
    )
