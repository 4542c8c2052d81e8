"""The full-screen terminal app: the only package that knows Textual."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ollm_tui.config.flags import Flags
    from ollm_tui.frontend.first_frame import FirstFrame


def run_tui(
    flags: "Flags",
    keep_secret: "Callable[[Iterable[str]], None]",
    first_frame: "FirstFrame | None" = None,
) -> int:
    """Open the app, run it to its end, and give the exit code."""
    # loads Textual, which only a full-screen session needs
    from ollm_tui.lazy import leave_out_command_of_httpx
    from ollm_tui.tui.memory import pause_collection

    leave_out_command_of_httpx()
    pause_collection()
    from ollm_tui.tui.run import run

    return run(flags, keep_secret, first_frame)
