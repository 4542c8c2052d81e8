"""The terminal the app runs in: driver, keyboard and clipboard."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.terminal.clipboard import (
        cleaned,
        fits_a_terminal,
        joined_lines,
        pieces,
        write_copy,
    )
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
            "clipboard": ("cleaned", "fits_a_terminal", "joined_lines", "pieces", "write_copy"),
            "guard": (
                "check_terminal",
                "driver_class",
                "exit_signals",
                "prompt_threads",
                "set_title",
            ),
        },
    )

__all__ = [
    "check_terminal",
    "cleaned",
    "driver_class",
    "exit_signals",
    "fits_a_terminal",
    "joined_lines",
    "pieces",
    "prompt_threads",
    "set_title",
    "write_copy",
]
