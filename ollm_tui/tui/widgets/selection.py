"""Text selection over line-painted views, for the screen that holds them."""

from textual.geometry import Offset
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget

from ollm_tui.tui.transcript.transcript import Transcript


class TranscriptSelection(Screen[ScreenResultType]):
    """Answers the mouse look-up from the rows; offsets inside strips would cost every frame."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """The widget at a cell, and the place in its text."""
        view, region = self._view_at(x, y)
        if view is None:
            return super().get_widget_and_offset_at(x, y)
        return view, view.selection.position_at(x - region.x, y - region.y)

    def _view_at(self, x: int, y: int) -> tuple[Transcript | None, Offset]:
        for view in self.query(Transcript):
            region = view.scrollable_content_region
            if view.is_on_screen and region.contains(x, y):
                return view, region.offset
        return None, Offset()
