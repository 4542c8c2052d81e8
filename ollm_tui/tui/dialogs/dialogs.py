"""Opening dialogs over a screen, and running what follows from their answers."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ollm_tui.dataclass import dataclass

if TYPE_CHECKING:
    from textual.screen import Screen

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Dialogs:
    """What the parts of a screen use in place of the screen itself: they ask and run."""

    screen: "Screen[Any]"

    @property
    def is_free(self) -> bool:
        """Whether no dialog and no other screen covers this one."""
        return self.screen.app.screen is self.screen

    async def ask(self, dialog: "Screen[Answer]") -> Answer:
        """Open a dialog and wait for its answer; only within `run`."""
        return await self.screen.app.push_screen_wait(dialog)

    def open(
        self, dialog: "Screen[Answer]", answered: "Callable[[Answer], object] | None" = None
    ) -> None:
        """Open a dialog or another screen unless one is open; `answered` gets its answer."""
        if self.is_free:
            self.screen.app.push_screen(dialog, answered)  # type: ignore[arg-type] # never None

    def run(
        self, work: Coroutine[Any, Any, object], group: str, *, is_exclusive: bool = False
    ) -> None:
        """Run a coroutine while the screen is open; an exclusive one cancels its group's others.

        What is cancelled as the app ends may still ask for more work, which is not begun.
        """
        if not self.screen.app.is_running:
            work.close()
            return
        self.screen.run_worker(work, group=group, exclusive=is_exclusive)

    def run_action(self, action: str) -> None:
        """Run an action of the screen, as its key does."""
        self.run(self.screen.run_action(action), "view")

    def every(self, seconds: float, look: Callable[[], None]) -> None:
        """Call a function at regular times until the screen closes."""
        self.screen.set_interval(seconds, look)
