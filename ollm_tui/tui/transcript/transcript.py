"""The whole chat as painted rows, addressed by block ids and filled with plain values."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events
from textual.geometry import Offset, Size
from textual.screen import ScreenResultType
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.graphics import terminal_pictures
from ollm_tui.tui.painters import Canvas, Painter, Palette, PlainPainter, ToolPainter
from ollm_tui.tui.transcript.block import MARGIN, Block, BlockKind, NoteKind, TextSource, ToolSource
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.bylines import Bylines
from ollm_tui.tui.transcript.folding import Folding
from ollm_tui.tui.transcript.messages import BranchAct, BranchRequested, LinkClicked
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from ollm_tui.tui.transcript.painting import PaintScheduler
from ollm_tui.tui.transcript.pictures import PictureDecoder
from ollm_tui.tui.transcript.reading import Reading, ReadingMode
from ollm_tui.tui.transcript.rendering import FinishedStrips, StripRenderer
from ollm_tui.tui.transcript.row_writer import RowWriter
from ollm_tui.tui.transcript.scroller import Scroller
from ollm_tui.tui.transcript.selection import RowSelection, copied
from ollm_tui.tui.transcript.styles import COMPONENTS, CSS, palette_from
from ollm_tui.tui.transcript.wide_tables import WideTables
from ollm_tui.tui.widgets import StyledOnce

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import MediaData
    from ollm_tui.protocol.tools import ToolOutcome

MAX_WIDTH = 100
"""The text measure on a wide screen."""
_NARROWEST = 12
_MARKER_CELLS = 16  # cells at the right of the last row that a click on its marker may hit
_CLOSE = {BlockKind.STATS, BlockKind.STOPPED}
_APART = {None, BlockKind.USER, BlockKind.ANSWER, BlockKind.TREE}
"""What figures and remarks keep a blank line from: code and lists would run into them."""


def _plain(kind: BlockKind, hint: str = "") -> Callable[[Canvas], Painter]:
    def style(palette: Palette) -> Style:
        own = {"user": palette.text, "error": palette.error, "warning": palette.warning}
        return own.get(kind, palette.dim)

    return lambda canvas: PlainPainter(canvas, style, hint)


def _markdown(canvas: Canvas) -> Painter:
    # Imported with the first answer: the Markdown painters cost 8 ms no first screen needs.
    from ollm_tui.tui.painters import MarkdownPainter

    return MarkdownPainter(canvas)


def _block(
    block_id: str, kind: BlockKind, make: Callable[[Canvas], Painter], whole: str | None
) -> Block:
    """A block that begins, or one with the `whole` of its text."""
    source = TextSource(make, finished=whole is not None)
    if whole:
        source.append(whole)
    return Block(block_id, kind, source, finished=source.finished)


class Transcript(ScrollView, can_focus=False):
    """User messages, thinking, answers and notes, in the order they were added."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = CSS

    def __init__(
        self,
        *,
        show_thinking: bool = False,
        streams_thinking: bool = True,
        reading: Reading | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Make an empty transcript.

        `show_thinking` keeps finished thinking open, `streams_thinking` shows it as it comes.
        """
        super().__init__(id=id, classes=classes)
        # A link under the mouse would have the whole view drawn again.
        self.set_reactive(Widget.auto_links, False)
        self._styles_cache = FinishedStrips()
        self.reading_mode = ReadingMode(reading or Reading(), self._update_canvas)
        self.block_list = blocks = BlockList()
        queue = PaintQueue(blocks)
        self.scroller = Scroller(self, blocks, queue, RowWriter(self, self._strips))
        self.selection = RowSelection(self, blocks, queue)
        self.painting = PaintScheduler(self, blocks, queue, self.scroller, self.selection.clear)
        self.renderer = StripRenderer(self, blocks)
        parts = blocks, self.painting, self.scroller, self.selection
        self.folding = Folding(*parts, streams_thinking, show_thinking)
        self.tables = WideTables(self, blocks, self.scroller, self.reading_mode)
        self.bylines = Bylines(blocks, self.painting, self.scroller)
        self.pictures = PictureDecoder(
            blocks, partial(self.run_worker, group="pictures"), self.painting.refresh_look
        )

    @property
    def busy(self) -> bool:
        """Whether anything is still to be painted, or to be decoded for it."""
        return self.painting.busy or self.pictures.busy

    # Blocks

    def add_user(self, block_id: str, text: str) -> None:
        """Show a prompt, exactly as it is; a long text is folded."""
        self._add_text(block_id, BlockKind.USER, text)
        self.folding.fold_long(self.block_list.block(block_id), text)

    def add_thinking(self, block_id: str, *, hidden: bool = False) -> None:
        """Begin a block of thinking: dim, and open while it streams if that is wanted."""
        block = Block(block_id, BlockKind.THINKING, TextSource(_plain(BlockKind.THINKING)))
        block.stays_folded = hidden
        self.folding.begin_thinking(block)
        self._add(block)

    def add_answer(self, block_id: str, whole: str | None = None) -> None:
        """Begin an answer in Markdown, or add a `whole` one that is finished."""
        self._add(_block(block_id, BlockKind.ANSWER, _markdown, whole))

    def add_tool(
        self, block_id: str, name: str, main_argument: str = "", *, is_command: bool = False
    ) -> None:
        """Show that a tool runs, or a command of the user."""
        source = ToolSource(name, main_argument, is_command=is_command)
        self._add(Block(block_id, BlockKind.TOOL, source))

    def end_tool(
        self, block_id: str, outcome: "ToolOutcome", seconds: float | None, output: str
    ) -> None:
        """Show how a tool ended; its output opens by itself only if it failed."""
        block = self.block_list.block(block_id)
        if isinstance(block.source, ToolSource) and not block.finished:
            block.finished = True
            block.source.end(outcome, seconds, output)
            if isinstance(block.painter, ToolPainter):
                block.painter.repaint()
            self.painting.changed(block)

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        """Show a sentence of the app's own, with the key that helps."""
        self._add_text(block_id, BlockKind(kind), text, hint or "")

    def add_picture(
        self,
        block_id: str,
        data: "MediaData | None",
        mime_type: str | None = None,
        url: str | None = None,
        label: str = "",
    ) -> None:
        """Show a picture; a link is shown as such and never fetched."""
        # Imported with the first picture: no first screen has one.
        from ollm_tui.tui.transcript.picture_source import PictureSource

        def request(source: PictureSource) -> None:
            self.pictures.request(source, block_id)

        source = PictureSource(data, url, mime_type, label, request, terminal_pictures(self.app))
        self._add(Block(block_id, BlockKind.PICTURE, source, finished=True))

    def append(self, block_id: str, delta: str) -> None:
        """Let a block grow; it is painted with the next frame."""
        block = self.block_list.block(block_id)
        if delta and not block.finished and isinstance(block.source, TextSource):
            block.source.append(delta)
            if block.painter is not None:
                block.painter.append(delta)
            self.painting.changed(block)

    def finish(self, block_id: str, summary: str | None = None, *, is_tree: bool = False) -> None:
        """End a block; thinking folds to its summary, an answer that is JSON becomes a tree."""
        block = self.block_list.block(block_id)
        if not block.finished:
            block.finished = True
            if isinstance(block.source, TextSource):
                block.source.finished = True
            if block.painter is not None:
                block.painter.finish()
            if block.kind is BlockKind.THINKING:
                self.folding.end_thinking(block, summary or "thought")
            self.painting.changed(block, is_last=True)
        if is_tree:
            self.folding.show_tree(block)

    def clear(self) -> None:
        """Remove all blocks."""
        self._cut(0)

    def remove_from(self, block_id: str, *, only: bool = False) -> None:
        """Remove a block and all after it; with `only`, its text alone: it takes no row."""
        if only:
            block = self.block_list.block(block_id)
            self.folding.empty(block, TextSource(_markdown, finished=True))
            return
        self._cut(self.block_list.index(block_id))

    def _add_text(self, block_id: str, kind: BlockKind, text: str, hint: str = "") -> None:
        self._add(_block(block_id, kind, _plain(kind, hint), text))

    def _add(self, block: Block) -> None:
        blocks = self.block_list.blocks
        before = blocks[-1].kind if blocks else None
        close = block.kind in _CLOSE and before not in _APART
        follows = block.kind is BlockKind.ANSWER and before is BlockKind.THINKING
        follows |= block.kind is before is BlockKind.TOOL
        block.gap = int(before is not None and not close and not follows)
        # A header may be drawn before anything is painted, and is to look as it will.
        block.canvas = self.block_list.canvas
        self.painting.add(block)

    def _cut(self, count: int) -> None:
        self.painting.cut(count)
        self.renderer.clear()
        self.painting.rows_moved(0)

    # The view

    def follow(self) -> None:
        """Go to the end, and stay there while more comes."""
        self.scroller.follow_end()
        if self.block_list.canvas is not None:
            self.scroller.place()
            self.painting.wake()

    def render_line(self, y: int) -> Strip:
        """One row of the view, for Textual to draw."""
        self.scroller.writer.forget(y)
        return self._strips([y])[0]

    def _strips(self, rows: Iterable[int]) -> list[Strip]:
        """Rows of the view, from the finished strips."""
        size, canvas = self.size, self.block_list.canvas
        if canvas is None:
            return [Strip.blank(size.width, self.rich_style) for _ in rows]
        top, selection = self.scroll_offset.y, self.text_selection
        return [self._strip(y, top + y, canvas, size, selection) for y in rows]

    def _strip(
        self, y: int, number: int, canvas: Canvas, size: Size, selection: Selection | None
    ) -> Strip:
        renderer = self.renderer
        shown = self.block_list.row_at(number)
        if shown is None:
            strip = renderer.blank(canvas, size.width)
        else:
            row, block = shown
            strip = renderer.strip(row, block, canvas, size.width)
            if renderer.marks or selection is not None:
                strip = renderer.marked(strip, number, row, block, selection)
            if row.wide:
                strip = renderer.part(strip, row, canvas, size.width)
        if y == size.height - 1 and self.scroller.unseen:
            strip = renderer.with_marker(strip, size.width)
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: gutters left out, soft-wrapped rows joined."""
        return copied(self.selection.rows(selection)), "\n"

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling away from the end pins the view; reaching the end lets it follow again."""
        if round(old_value) != round(new_value):
            self.scroller.scrolled(round(old_value))
            self.painting.scrolled()

    def on_click(self, event: events.Click) -> None:
        """Fold at a header, go to the end at the marker, select a word or line, ask for a link."""
        if self._walks(event):
            event.prevent_default()
            return
        if event.chain > 1:
            # Textual would select the whole chat.
            event.prevent_default()
            self.selection.select_around(event.x, event.y, words=event.chain == 2)
            return
        is_last = event.y == self.size.height - 1
        if is_last and self.scroller.unseen and event.x > self.size.width - _MARKER_CELLS:
            self.scroll_end(animate=False)
            return
        shown = self.block_list.row_at(self.scroll_offset.y + event.y)
        if shown is None:
            return
        row, block = shown
        if block.kind is BlockKind.TREE and self.text_selection is None:
            offset = self.block_list.find(self.scroll_offset.y + event.y)[1]
            self.folding.toggle_node(block, offset - block.lead)
            return
        is_tool = block.kind is BlockKind.TOOL and row is block.row(block.lead)
        if is_tool or (block.has_header and row is block.header()):
            self.folding.toggle(block.id)
        elif self.text_selection is None and (address := self.selection.link_at(event.x, event.y)):
            # a selection that is still there was dragged just now
            self.post_message(LinkClicked(address))

    def _walks(self, event: events.Click) -> bool:
        """Ask for the version before or after a message at its counter, also by fast clicks."""
        shown = self.block_list.row_at(self.scroll_offset.y + event.y)
        byline = shown[1].byline if shown is not None else None
        if shown is None or byline is None or shown[0] is not byline.row(shown[1].canvas):
            return False
        if step := byline.step_at(event.x - MARGIN):
            act: BranchAct = "previous" if step < 0 else "next"
            self.post_message(BranchRequested(act, shown[1].id, is_by_key=False))
        return True

    # The canvas

    def on_mount(self) -> None:
        """Paint what came before the widget had a size."""
        self._update_canvas()

    def on_resize(self) -> None:
        """Paint again at the new width; what is in view comes first."""
        # The padding of a strip depends on the whole width, its rows only on the measure.
        self.renderer.clear()
        self._update_canvas()
        self.pictures.look_again()

    def notify_style_update(self) -> None:
        """Paint again when the theme has changed."""
        super().notify_style_update()
        if self.block_list.canvas is not None:
            self.call_later(self._update_canvas)

    def _update_canvas(self) -> None:
        if not self.size.width or not self.is_attached:
            return
        full = self.get_component_rich_style
        palette = palette_from(full, partial(full, partial=True))
        width = min(max(self.size.width - MARGIN - 1, _NARROWEST), MAX_WIDTH)
        has_colours = not (self.app.no_color or self.app.native_ansi_color)
        reading = self.reading_mode.current
        canvas = Canvas(
            width,
            palette,
            has_colours,
            maths=reading.maths,
            pictures=reading.pictures,
            folds_tables=reading.folds_tables,
        )
        if canvas == self.block_list.canvas:
            self.scroller.place()
            self.painting.wake()
            return
        self.scroller.keep_text()
        self.renderer.clear()
        self.block_list.canvas, self.block_list.shift = canvas, 0
        if self.block_list.blocks:
            self.selection.clear()
        self.block_list.estimate_all(canvas)
        self.scroller.show_change(0, None)
        self.painting.paint_slice()
        self.refresh()


class TranscriptSelection(StyledOnce[ScreenResultType]):
    """Answers the mouse look-up from the rows; offsets inside strips would cost every frame."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """The widget at a cell, and the place in its text."""
        for view in self.query(Transcript):
            region = view.scrollable_content_region
            if view.is_on_screen and region.contains(x, y):
                return view, view.selection.position_at(x - region.x, y - region.y)
        return super().get_widget_and_offset_at(x, y)
