"""The whole chat as painted rows, addressed by block ids and filled with plain values."""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from rich.style import Style
from textual import events

from ollm_tui.tui.widgets.painters.painter import Offsets
from ollm_tui.tui.widgets.painters.palette import Canvas, Palette
from ollm_tui.tui.widgets.painters.plain_painter import PlainPainter
from ollm_tui.tui.widgets.painters.tool_call import Fold, ToolOutcome, ToolPainter
from ollm_tui.tui.widgets.transcript_block import Block, BlockKind
from ollm_tui.tui.widgets.transcript_palette import CSS
from ollm_tui.tui.widgets.transcript_view import WIDEST, RowView

NoteKind = Literal["info", "warning", "error", "stats", "stopped"]

_UNMEASURED = Canvas(WIDEST, Palette())
_CLOSE = {BlockKind.STATS, BlockKind.STOPPED}
_APART = {None, BlockKind.USER, BlockKind.ANSWER}
"""What figures and remarks keep a blank line from: code and lists would run into them."""


def _style(kind: BlockKind, palette: Palette) -> Style:
    """The style of a block that is shown as it is."""
    match kind:
        case BlockKind.ERROR:
            return palette.error
        case BlockKind.WARNING:
            return palette.warning
        case BlockKind.USER:
            return palette.text
        case _:
            return palette.dim


class Transcript(RowView):
    """User messages, thinking, answers and notes, in the order they were added."""

    DEFAULT_CSS = CSS

    def __init__(
        self,
        *,
        show_thinking: bool = False,
        streams_thinking: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.show_thinking = show_thinking
        """Finished thinking stays open."""
        self._streams_thinking = streams_thinking
        self._by_id: dict[str, int] = {}

    def add_user(self, block_id: str, text: str) -> None:
        """Show what the user said, exactly as it is."""
        self._add_text(block_id, BlockKind.USER, text)

    def add_thinking(self, block_id: str) -> None:
        """Begin a block of thinking: dim, and open while it streams if that is wanted."""
        canvas = self._canvas or _UNMEASURED
        painter = PlainPainter(canvas, partial(_style, BlockKind.THINKING))
        block = Block(block_id, BlockKind.THINKING, painter, canvas)
        block.fold(not (self._streams_thinking or self.show_thinking))
        self._add(block)

    def add_answer(self, block_id: str) -> None:
        """Begin an answer in Markdown."""
        # Imported with the first answer: the Markdown painters cost 8 ms no first screen needs.
        from ollm_tui.tui.widgets.painters.markdown import MarkdownPainter

        canvas = self._canvas or _UNMEASURED
        self._add(Block(block_id, BlockKind.ANSWER, MarkdownPainter(canvas), canvas))

    def add_tool(self, block_id: str, name: str, main_argument: str = "") -> None:
        """Show that a tool runs."""
        canvas = self._canvas or _UNMEASURED
        block = Block(block_id, BlockKind.TOOL, ToolPainter(canvas, name, main_argument), canvas)
        block.text.append(f"{name} {main_argument}".rstrip())
        self._add(block)
        self._queue(block)

    def end_tool(
        self, block_id: str, outcome: ToolOutcome, seconds: float | None, output: str
    ) -> None:
        """Show how a tool ended; its output opens by itself only where it failed."""
        block = self._block(block_id)
        if isinstance(block.painter, ToolPainter) and not block.finished:
            block.finished = True
            block.text.append(f" {outcome}")
            block.painter.end(outcome, seconds, output)
            self._queue(block)

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        """Say something in the app's own voice, with the key that helps."""
        self._add_text(block_id, BlockKind(kind), text, hint or "")

    def append(self, block_id: str, delta: str) -> None:
        """Let a block grow; it is painted with the next frame."""
        block = self._block(block_id)
        if delta and not block.finished:
            block.text.append(delta)
            block.painter.append(delta)
            self._queue(block)

    def finish(self, block_id: str, summary: str | None = None) -> None:
        """End a block; thinking folds to its summary."""
        block = self._block(block_id)
        if block.finished:
            return
        block.finished = True
        block.painter.finish()
        if block.kind is BlockKind.THINKING:
            block.fold(not self.show_thinking, summary or "thought")
            self._refold(block)
        self._queue(block)

    def clear(self) -> None:
        """Take everything away."""
        self._cut(0)

    def remove_from(self, block_id: str) -> None:
        """Take away a block and all after it."""
        self._cut(self._by_id[block_id])

    def toggle_fold(self, block_id: str) -> None:
        """Fold or unfold one block of thinking, or the output of a tool."""
        block = self._block(block_id)
        if block.kind is BlockKind.THINKING:
            block.fold(not block.folded)
            self._refold(block)
        elif isinstance(block.painter, ToolPainter):
            self._fold_tool(block, block.painter, block.painter.next_fold())

    def _fold_tool(self, block: Block, painter: ToolPainter, fold: Fold) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()
        painter.set_fold(fold)
        self._queue(block)

    def toggle_tools(self) -> bool:
        """Show what all tools gave, or fold it; False when there is no tool."""
        tools = [(b, b.painter) for b in self._blocks if isinstance(b.painter, ToolPainter)]
        fold: Fold = "open" if any(each.fold != "open" for _, each in tools) else "folded"
        for block, painter in tools:
            self._fold_tool(block, painter, fold)
        return bool(tools)

    def toggle_thinking(self) -> None:
        """Fold all thinking if the newest is open, else unfold it; what comes later goes along."""
        newest = next((one for one in self._newest() if one.kind is BlockKind.THINKING), None)
        self.show_thinking = newest.folded if newest else not self.show_thinking
        if newest and not newest.finished:
            self._streams_thinking = self.show_thinking
        self._keep_everything()
        for index, block in enumerate(self._blocks):
            if block.kind is BlockKind.THINKING and block.folded is self.show_thinking:
                block.fold(not self.show_thinking)
                self._offsets.set(index, block.height)
        self._rows_moved(0)
        self._anchor = None

    def source(self, block_id: str) -> str:
        """The text of a block as it was given."""
        return "".join(self._block(block_id).text)

    def last_answer_text(self) -> str | None:
        """The text of the newest answer that has any."""
        answers = (block for block in self._newest() if block.kind is BlockKind.ANSWER)
        return next(("".join(block.text) for block in answers if block.text), None)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._by_id

    def _newest(self) -> Iterator[Block]:
        return reversed(self._blocks)

    def _block(self, block_id: str) -> Block:
        return self._blocks[self._by_id[block_id]]

    def _add_text(self, block_id: str, kind: BlockKind, text: str, hint: str = "") -> None:
        canvas = self._canvas or _UNMEASURED
        painter = PlainPainter(canvas, partial(_style, kind), hint)
        block = Block(block_id, kind, painter, canvas)
        self._add(block)
        self.append(block_id, text)
        self.finish(block_id)

    def _add(self, block: Block) -> None:
        if block.id in self._by_id:
            raise ValueError(f"the transcript already has a block {block.id}")
        before = self._blocks[-1].kind if self._blocks else None
        close = block.kind in _CLOSE and before not in _APART
        follows = block.kind is BlockKind.ANSWER and before is BlockKind.THINKING
        follows |= block.kind is before is BlockKind.TOOL
        block.gap = int(before is not None and not close and not follows)
        self._by_id[block.id] = len(self._blocks)
        self._blocks.append(block)
        self._offsets.append(0)
        if block.kind is BlockKind.THINKING:
            self._refold(block)

    def _queue(self, block: Block) -> None:
        # The newest is painted first, so it goes to the end.
        self._busy.pop(block, None)
        self._busy[block] = self._by_id[block.id]
        self._wake()

    def _refold(self, block: Block) -> None:
        """Rows have come or gone without any painting."""
        index = self._by_id[block.id]
        self._offsets.set(index, block.height)
        self._rows_moved(self._offsets.start(index))

    def _rows_moved(self, first: int) -> None:
        if self._canvas is not None and self.is_attached:
            if self.text_selection is not None:
                self.screen.clear_selection()
            self._show_change(first, None)

    def _cut(self, count: int) -> None:
        for block in self._blocks[count:]:
            del self._by_id[block.id]
            self._busy.pop(block, None)
        del self._blocks[count:]
        self._offsets = Offsets()
        for block in self._blocks:
            self._offsets.append(block.height)
        self._anchor = None
        self._strips.clear()
        self._rows_moved(0)

    def on_click(self, event: events.Click) -> None:
        """Fold at a header; go to the end at the marker; select a word or a line."""
        if event.chain > 1:
            # Textual would select the whole chat.
            event.prevent_default()
            self.select_around(event.x, event.y, words=event.chain == 2)
            return
        if self.unseen and event.y == self.size.height - 1 and event.x > self.size.width - 16:
            self.scroll_end(animate=False)
            return
        found = self.row_at(self.scroll_offset.y + event.y)
        if found is None:
            return
        row, block = found
        is_tool = block.kind is BlockKind.TOOL and row is block.painter.row(0)
        if is_tool or (block.kind is BlockKind.THINKING and row is block.header()):
            self.toggle_fold(block.id)
