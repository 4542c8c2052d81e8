"""Every key of the app in one table, and the keymap with the user's own keys."""

from ollm_tui.tui.keys.double_escape import AGAIN_WITHIN_S, DoubleEscape
from ollm_tui.tui.keys.key import Key, KeyHint, display_key
from ollm_tui.tui.keys.keymap import Keymap, with_overrides
from ollm_tui.tui.keys.table import (
    COMPOSER,
    DOWNLOADS,
    EDITING,
    MODEL_COMMANDS,
    SCREENS,
    named_commands,
)

__all__ = [
    "AGAIN_WITHIN_S",
    "COMPOSER",
    "DOWNLOADS",
    "EDITING",
    "MODEL_COMMANDS",
    "SCREENS",
    "DoubleEscape",
    "Key",
    "KeyHint",
    "Keymap",
    "display_key",
    "named_commands",
    "with_overrides",
]
