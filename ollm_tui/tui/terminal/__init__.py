"""The terminal the app runs in: driver, keyboard and clipboard."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.terminal.copying import ClipboardCopier
    from ollm_tui.tui.terminal.first_picture import KeptPicture
    from ollm_tui.tui.terminal.foreground import can_lend, run_in_terminal
    from ollm_tui.tui.terminal.guard import (
        check_terminal,
        driver_class,
        exit_signals,
        prompt_threads,
        set_title,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "copying": ("ClipboardCopier",),
            "first_picture": ("KeptPicture",),
            "foreground": ("can_lend", "run_in_terminal"),
            "guard": (
                *("check_terminal", "driver_class", "exit_signals"),
                *("prompt_threads", "set_title"),
            ),
        },
    )

__all__ = [
    "ClipboardCopier",
    "KeptPicture",
    "can_lend",
    "check_terminal",
    "driver_class",
    "exit_signals",
    "prompt_threads",
    "run_in_terminal",
    "set_title",
]
