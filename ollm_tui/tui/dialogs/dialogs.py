"""Opening dialogs over a screen, and running what follows from their answers."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from textual.screen import Screen

Answer = TypeVar("Answer")


class Dialogs:
    """What the parts of a screen use in place of the screen itself: they ask and run."""

    def __init__(self, screen: "Screen[Any]") -> None:
        self._screen = screen

    @property
    def is_free(self) -> bool:
        """Whether no dialog and no other screen covers this one."""
        return self._screen.app.screen is self._screen

    async def ask(self, dialog: "Screen[Answer]") -> Answer:
        """Open a dialog and wait for its answer; only within `run`."""
        return await self._screen.app.push_screen_wait(dialog)

    def open(
        self, dialog: "Screen[Answer]", answered: "Callable[[Answer], object] | None" = None
    ) -> None:
        """Open a dialog or another screen and go on; `answered` gets its answer.

        A no-op while another one is open.
        """
        if self.is_free:
            self._screen.app.push_screen(dialog, answered)  # type: ignore[arg-type] # never None

    def run(
        self, work: Coroutine[Any, Any, object], group: str, *, is_exclusive: bool = False
    ) -> None:
        """Run a coroutine until it ends or the screen closes.

        An exclusive one cancels those of its group that still run.
        """
        self._screen.run_worker(work, group=group, exclusive=is_exclusive)

    def every(self, seconds: float, look: Callable[[], None]) -> None:
        """Call a function at regular times until the screen closes."""
        self._screen.set_interval(seconds, look)
