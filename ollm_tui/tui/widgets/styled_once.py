"""A screen that opens without working out its styles twice, and closes without late workers."""

from textual import events, on
from textual.screen import Screen, ScreenResultType


class StyledOnce(Screen[ScreenResultType]):
    """Leaves the styles as they are when it is shown for the first time.

    Each widget has had its own since it was mounted. The stock screen works all of them out again
    before it draws anything, which is an eighth of what opening it costs.
    """

    _has_been_shown = False

    @on(events.ScreenResume)
    def _keep_first_styles(self, event: events.ScreenResume) -> None:
        if not self._has_been_shown:
            self._has_been_shown = True
            event.refresh_styles = False

    async def _message_loop_exit(self) -> None:
        # The stock screen cancels its workers after its widgets are gone. One that gets an answer
        # in between would look for them.
        self.workers.cancel_node(self)
        await super()._message_loop_exit()
