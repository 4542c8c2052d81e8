"""Give the app's terminal to another program, and take it back however that ends."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ollm_tui.frontend.foreground import ForegroundProgram
from ollm_tui.tui.terminal.guard import RESET

if TYPE_CHECKING:
    from textual.app import App


class TerminalLender(Protocol):
    """A driver whose terminal can be given away."""

    def lend(self, reclaim: Callable[[], None]) -> None:
        """Stop drawing and reading; `reclaim` is called if the app ends meanwhile."""

    def take_back(self) -> None:
        """Draw and read again."""


def can_lend(app: "App[Any]") -> bool:
    """Return whether the app has a terminal that another program could use."""
    return hasattr(app._driver, "lend")


async def run_in_terminal(
    app: "App[Any]", command: Sequence[str], environ: Mapping[str, str], notice: str
) -> int:
    """Run a program on the app's terminal; returns its exit code, negative for a signal.

    `notice` stands on the terminal meanwhile, for programs that open a window of their own.

    Raises:
        OSError: the program cannot be started.
    """
    driver: Any = app._driver
    program = ForegroundProgram(command, environ, RESET.encode("ascii"))
    app.app_suspend_signal.publish(app)
    driver.lend(program.end)
    try:
        with driver.no_automatic_restart():
            os.write(program.terminal, f"{notice}\n".encode(errors="replace"))
            program.start()
            return await program.wait()
    finally:
        program.end()
        driver.take_back()
