"""From a shelf of blocks to the strips of a screen: drawn once, marked, never styled again."""

from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.geometry import Spacing
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.rows import BLANK, Row
from ollm_tui.tui.transcript.strips import draw, restyled_all
from ollm_tui.tui.transcript.styles import COMPONENTS, PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from ollm_tui.tui.transcript.marks import Marks

_CACHED_STRIPS = 1024
_NO_GUTTER = Spacing()
_MARKER = " ↓ new output "
"""Shown in the last row while the view is pinned above new text."""


class _FinishedStrips(StylesCache):
    """Takes the strips of a plain widget as they are.

    Textual makes each strip of a content anew, to put a border, a padding or a tint around it, and
    filters it again. While a view follows the end all its rows move with every frame, which made
    that a third of the whole cost of an answer.
    """

    def render_line(self, *arguments: Any, **others: Any) -> Strip:
        """The content's own strip, as wide as the widget."""
        styles, y, size, content_size = arguments[:4]
        if styles.gutter != _NO_GUTTER or styles.tint.a or y >= content_size.height:
            return super().render_line(*arguments, **others)
        content_line: Callable[[int], Strip] = arguments[7]
        return content_line(y).adjust_cell_length(size.width)


class StripView(ScrollView, can_focus=False):
    """Draws the rows of a shelf that are in view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)

    unseen = var(False, init=False)
    """Something was added below while the view stays where it is."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        # A link under the mouse would have the whole view drawn again.
        self.set_reactive(Widget.auto_links, False)
        self._styles_cache = _FinishedStrips()
        self.shelf = BlockList()
        self.marks: list[Marks] = []
        """What is laid over the rows; call `refresh` when it changes."""
        self._canvas: Canvas | None = None
        self._strips: dict[Row, Strip] = {}

    @property
    def canvas(self) -> Canvas | None:
        """What the rows are painted for; None before there is a size."""
        return self._canvas

    def render_line(self, y: int) -> Strip:
        """One row of the view, from the finished strips."""
        number = self.scroll_offset.y + y
        canvas, width = self._canvas, self.size.width
        if canvas is None:
            return Strip.blank(width, self.rich_style)
        found = self.shelf.row_at(number)
        if found is None:
            strip = self._blank(canvas)
        else:
            strip = self._with_marks(self._strip(*found, canvas), number, found)
        if self.unseen and y == self.size.height - 1:
            strip = self._with_marker(strip)
        return strip

    def _strip(self, row: Row, block: Block, canvas: Canvas) -> Strip:
        if row is BLANK:
            return self._blank(canvas)
        strip = self._strips.get(row)
        if strip is None:
            if len(self._strips) >= _CACHED_STRIPS:
                self._strips.clear()
            margin = block.margin(row, canvas.palette)
            strip = self._strips[row] = draw(row, margin, canvas, self.size.width)
        return strip

    def _blank(self, canvas: Canvas) -> Strip:
        strip = self._strips.get(BLANK)
        if strip is None:
            strip = self._strips[BLANK] = Strip.blank(self.size.width, canvas.palette.text)
        return strip

    def _with_marks(self, strip: Strip, number: int, found: tuple[Row, Block]) -> Strip:
        if not self.marks:
            return strip
        row, block = found
        index, offset = self.shelf.find(number)
        for marks in self.marks:
            spans = [
                (start, end, self._partial_style(name))
                for start, end, name in marks.spans(block, index, offset, row)
            ]
            if spans:
                strip = Strip(restyled_all(strip, spans), strip.cell_length)
        return strip

    def _with_marker(self, strip: Strip) -> Strip:
        style = self.get_component_rich_style(PREFIX + "marker-new")
        left = max(self.size.width - len(_MARKER) - 1, 0)
        marker = Strip([Segment(_MARKER[: self.size.width], style)])
        return Strip.join([strip.crop(0, left), marker, strip.crop(left + marker.cell_length)])

    def _partial_style(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)
