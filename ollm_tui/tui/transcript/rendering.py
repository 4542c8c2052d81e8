"""From rows to the strips of a screen: each is drawn once, then marked, never styled again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.geometry import Spacing
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.painters import BLANK, Canvas, Row, row_cells
from ollm_tui.tui.transcript.block import MARGIN, Block
from ollm_tui.tui.transcript.block_list import BlockList, address
from ollm_tui.tui.transcript.styles import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.selection import Selection

_CACHED_STRIPS = 1024
_MORE_LEFT, _MORE_RIGHT = "\u2039", "\u203a"  # single quotation marks that point outwards
_NO_GUTTER = Spacing()
_MARKER = " ↓ new output "  # shown in the last row while the view is pinned above new text

Span = tuple[int, int, str]
"""First and last code point of the strip (the margin counts) and a component class."""


class Marks(Protocol):
    """What is laid over finished rows: the cursor, the caret, and the matches of a search.

    Three classes implement it, two of which are loaded with the first use of their feature.
    """

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterable[Span]:
        """The marked parts of one row, in order; `offset` is the row's index in the block."""


class FinishedStrips(StylesCache):
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


class StripRenderer:
    """Draws rows in the styles of a widget, and lays marks and the selection over them."""

    def __init__(self, view: Widget, block_list: BlockList) -> None:
        self._view = view
        self._block_list = block_list
        self._strips: dict[Row, Strip] = {}
        self.marks: list[Marks] = []
        """What is laid over the rows, the lowest first."""

    def add_marks(self, marks: Marks, *, is_lowest: bool = False) -> None:
        """Lay marks over the rows, above or below all others; a no-op if they are there."""
        if marks not in self.marks:
            self.marks.insert(0 if is_lowest else len(self.marks), marks)
        self._view.refresh()

    def remove_marks(self, marks: Marks) -> None:
        """Take marks away."""
        self.marks.remove(marks)
        self._view.refresh()

    def redraw(self) -> None:
        """Draw the view again after marks have changed."""
        self._view.refresh()

    def clear(self) -> None:
        """Draw every row anew, at another width or in other styles."""
        self._strips.clear()

    def strip(self, row: Row, block: Block, canvas: Canvas, width: int) -> Strip:
        """The finished strip of a row, without marks."""
        if row is BLANK:
            return self.blank(canvas, width)
        strip = self._strips.get(row)
        if strip is None:
            if len(self._strips) >= _CACHED_STRIPS:
                self._strips.clear()
            margin = block.margin(row, canvas.palette)
            strip = self._strips[row] = _draw(row, margin, canvas, width)
        return strip

    def blank(self, canvas: Canvas, width: int) -> Strip:
        """The strip of an empty row."""
        strip = self._strips.get(BLANK)
        if strip is None:
            strip = self._strips[BLANK] = Strip.blank(width, canvas.palette.text)
        return strip

    def marked(
        self, strip: Strip, number: int, row: Row, block: Block, selection: "Selection | None"
    ) -> Strip:
        """The strip of a row with all marks, and with what is selected of it."""
        index, offset = self._block_list.find(number)
        for marks in self.marks:
            spans = [
                (start, end, self._view.get_component_rich_style(name, partial=True))
                for start, end, name in marks.spans(block, index, offset, row)
            ]
            if spans:
                strip = Strip(restyled(strip, spans), strip.cell_length)
        if selection is not None and (span := selection.get_span(address(index, offset))):
            length = MARGIN + len(row.text)
            start = max(span[0], MARGIN + row.gutter)
            end = length if span[1] < 0 else min(span[1], length)
            if start < end:
                selected = [(start, end, self._selection_style)]
                strip = Strip(restyled(strip, selected), strip.cell_length)
        return strip

    def part(self, strip: Strip, row: Row, canvas: Canvas, width: int) -> Strip:
        """The part of a wide row that is in view, with signs where it goes on."""
        start = MARGIN + self._block_list.shift_of(row)
        end = start + canvas.width
        before = _MORE_LEFT if start > MARGIN else " "
        behind = _MORE_RIGHT if end < strip.cell_length else " "
        if behind == _MORE_RIGHT and MARGIN + canvas.width >= width:
            end = start + width - MARGIN - 1  # the sign stands on the last cell of the text
        parts = [
            strip.crop(0, MARGIN - 1),
            Strip([Segment(before, canvas.palette.dim)]),
            strip.crop(start, end),
            Strip([Segment(behind, canvas.palette.dim)]),
        ]
        return Strip.join(parts).adjust_cell_length(width, canvas.palette.text)

    @property
    def _selection_style(self) -> Style:
        """The mixed background; a text colour only if the theme has one with enough contrast."""
        screen = self._view.screen
        full = screen.get_component_rich_style("screen--selection")
        own = screen.get_component_rich_style("screen--selection", partial=True)
        return Style.from_color(own.color, full.bgcolor) + own.without_color

    def with_marker(self, strip: Strip, width: int) -> Strip:
        """The last strip of a view that has new output below it."""
        style = self._view.get_component_rich_style(PREFIX + "marker-new")
        left = max(width - len(_MARKER) - 1, 0)
        marker = Strip([Segment(_MARKER[:width], style)])
        return Strip.join([strip.crop(0, left), marker, strip.crop(left + marker.cell_length)])


def _draw(row: Row, margin: Segment, canvas: Canvas, width: int) -> Strip:
    """The strip of a row: margin, text, its own fill up to the measure, then the background."""
    segments = [margin, *row.segments]
    used = row_cells(segments)
    measure = min(MARGIN + canvas.width, width)
    if row.fill is not None and used < measure:
        segments.append(Segment(" " * (measure - used), row.fill))
        used = measure
    if used < width:
        segments.append(Segment(" " * (width - used), canvas.palette.text))
    strip = Strip(segments, max(used, width))
    return strip if used <= width or row.wide else strip.crop(0, width)


def restyled(segments: Iterable[Segment], spans: Iterable[tuple[int, int, Style]]) -> list[Segment]:
    """Lay styles over spans of code points, which come in order; where two meet the first wins."""
    out: list[Segment] = []
    waiting = iter(spans)
    span = next(waiting, None)
    position = 0
    for text, base, control in segments:
        size, done = len(text), 0
        while span is not None and span[0] < position + size:
            low = max(span[0] - position, done)
            high = max(min(span[1] - position, size), low)
            over = span[2] if base is None else base + span[2]
            pieces = ((text[done:low], base), (text[low:high], over))
            out += [Segment(piece, look, control) for piece, look in pieces if piece]
            done = high
            if span[1] > position + size:
                break
            span = next(waiting, None)
        if done < size:
            out.append(Segment(text[done:], base, control))
        position += size
    return out
