"""The terminal the app runs in: driver, keyboard and clipboard."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.terminal.copying import Copying
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
            "copying": ("Copying",),
            "guard": (
                *("check_terminal", "driver_class", "exit_signals"),
                *("prompt_threads", "set_title"),
            ),
        },
    )

__all__ = [
    "Copying",
    "check_terminal",
    "driver_class",
    "exit_signals",
    "prompt_threads",
    "set_title",
]
