"""A screen that opens without working out its styles twice, and closes without late workers."""

from collections.abc import Iterable

from textual import events, on
from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip


class RowCompositor(Compositor):
    """Renders those rows of each widget that it draws.

    The stock compositor renders every widget of the screen in full to draw a single one of them,
    which is most of what a typed letter and a step of the status line cost.
    """

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if not crop:
            yield from super()._get_renders(crop)
            return
        for widget, (region, clip) in self.visible_widgets.items():
            # whole rows: where they are cut depends on the widgets beside each other
            rows = clip.intersection(Region(clip.x, crop.y, clip.width, crop.height))
            x, y, width, height = region.intersection(rows)
            if width and height:
                part = Region(x - region.x, y - region.y, width, height)
                yield region, rows, widget.render_lines(part)


class StyledOnce(Screen[ScreenResultType]):
    """Leaves the styles as they are when it is shown for the first time.

    Each widget has had its own since it was mounted. The stock screen works all of them out again
    before it draws anything, which is an eighth of what opening it costs.
    """

    _has_been_shown = False

    def __init__(
        self, name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(name, id, classes)
        self._compositor = RowCompositor()

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
