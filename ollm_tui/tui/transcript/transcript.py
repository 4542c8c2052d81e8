"""The whole chat as painted rows, addressed by block ids and filled with plain values."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from rich.style import Style
from textual import events

from ollm_tui.tui.transcript.block import Block, BlockKind
from ollm_tui.tui.transcript.painters.painter import Painter
from ollm_tui.tui.transcript.painters.palette import Canvas, Palette
from ollm_tui.tui.transcript.painters.plain_painter import PlainPainter
from ollm_tui.tui.transcript.painters.tool_call import Fold, ToolOutcome, ToolPainter
from ollm_tui.tui.transcript.pictures import PictureRows
from ollm_tui.tui.transcript.source import TextSource, ToolSource
from ollm_tui.tui.transcript.styles import CSS
from ollm_tui.tui.widgets.paste import long_summary, needs_folding

NoteKind = Literal["info", "warning", "error", "stats", "stopped"]

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


def _plain(kind: BlockKind, hint: str = "") -> Callable[[Canvas], Painter]:
    return lambda canvas: PlainPainter(canvas, partial(_style, kind), hint)


def _markdown(canvas: Canvas) -> Painter:
    # Imported with the first answer: the Markdown painters cost 8 ms no first screen needs.
    from ollm_tui.tui.transcript.painters.markdown import MarkdownPainter

    return MarkdownPainter(canvas)


class Transcript(PictureRows):
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

    def add_user(self, block_id: str, text: str) -> None:
        """Show what the user said, exactly as it is; a long text is folded, as it was written."""
        self._add_text(block_id, BlockKind.USER, text)
        if needs_folding(text):
            block = self.shelf.block(block_id)
            block.is_long = True
            block.fold(True, long_summary(text))
            self._refold(block)

    def add_thinking(self, block_id: str) -> None:
        """Begin a block of thinking: dim, and open while it streams if that is wanted."""
        block = Block(block_id, BlockKind.THINKING, TextSource(_plain(BlockKind.THINKING)))
        block.fold(not (self._streams_thinking or self.show_thinking))
        self._add(block)

    def add_answer(self, block_id: str) -> None:
        """Begin an answer in Markdown."""
        self._add(Block(block_id, BlockKind.ANSWER, TextSource(_markdown)))

    def add_tool(self, block_id: str, name: str, main_argument: str = "") -> None:
        """Show that a tool runs."""
        self._add(Block(block_id, BlockKind.TOOL, ToolSource(name, main_argument)))

    def end_tool(
        self, block_id: str, outcome: ToolOutcome, seconds: float | None, output: str
    ) -> None:
        """Show how a tool ended; its output opens by itself only where it failed."""
        block = self.shelf.block(block_id)
        if isinstance(block.source, ToolSource) and not block.finished:
            block.finished = True
            block.source.end(outcome, seconds, output)
            if isinstance(block.painter, ToolPainter):
                block.painter.end(outcome, seconds, output)
            self._changed(block)

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        """Say something in the app's own voice, with the key that helps."""
        self._add_text(block_id, BlockKind(kind), text, hint or "")

    def append(self, block_id: str, delta: str) -> None:
        """Let a block grow; it is painted with the next frame."""
        block = self.shelf.block(block_id)
        if delta and not block.finished and isinstance(block.source, TextSource):
            block.source.append(delta)
            if block.painter is not None:
                block.painter.append(delta)
            self._changed(block)

    def finish(self, block_id: str, summary: str | None = None) -> None:
        """End a block; thinking folds to its summary."""
        block = self.shelf.block(block_id)
        if block.finished:
            return
        block.finished = True
        if isinstance(block.source, TextSource):
            block.source.finished = True
        if block.painter is not None:
            block.painter.finish()
        if block.kind is BlockKind.THINKING:
            block.fold(not self.show_thinking, summary or "thought")
            if block.painter is not None:
                self._refold(block)
        self._changed(block)

    def clear(self) -> None:
        """Take everything away."""
        self._cut(0)

    def remove_from(self, block_id: str) -> None:
        """Take away a block and all after it."""
        self._cut(self.shelf.index(block_id))

    def toggle_fold(self, block_id: str, *, only_open: bool = False) -> None:
        """Fold or unfold one block of thinking, a long prompt, or the output of a tool."""
        block = self.shelf.block(block_id)
        if block.has_header:
            block.fold(not block.folded and not only_open)
            self._refold(block)
        elif only_open:
            self._fold_tool(block, "open")
        elif isinstance(block.painter, ToolPainter):
            self._fold_tool(block, block.painter.next_fold())

    def _fold_tool(self, block: Block, fold: Fold) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()
        if isinstance(block.source, ToolSource):
            block.source.fold = fold
        if isinstance(block.painter, ToolPainter):
            block.painter.set_fold(fold)
            self._changed(block)
        else:
            self._estimate(block)

    def toggle_tools(self) -> bool:
        """Show what all tools gave, or fold it; False when there is no tool."""
        tools = [(b, b.source) for b in self.shelf.blocks if isinstance(b.source, ToolSource)]
        is_any_folded = any(source.fold != "open" for _block, source in tools)
        self._keep_everything()
        for block, _source in tools:
            self._fold_tool(block, "open" if is_any_folded else "folded")
        self._rows_moved(0)
        return bool(tools)

    def toggle_thinking(self) -> None:
        """Fold all thinking if the newest is open, else unfold it; what comes later goes along."""
        newest = next((one for one in self._newest() if one.kind is BlockKind.THINKING), None)
        self.show_thinking = newest.folded if newest else not self.show_thinking
        if newest and not newest.finished:
            self._streams_thinking = self.show_thinking
        self._keep_everything()
        for index, block in enumerate(self.shelf.blocks):
            if block.kind is BlockKind.THINKING and block.folded is self.show_thinking:
                block.fold(not self.show_thinking)
                self.shelf.measure(index)
        self._rows_moved(0)
        self._let_go()

    def source(self, block_id: str) -> str:
        """The text of a block as it was given."""
        return self.shelf.block(block_id).source.text

    def last_answer_text(self) -> str | None:
        """The text of the newest answer that has any."""
        answers = (block for block in self._newest() if block.kind is BlockKind.ANSWER)
        return next((text for block in answers if (text := block.source.text)), None)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self.shelf

    def _newest(self) -> Iterator[Block]:
        return reversed(self.shelf.blocks)

    def _add_text(self, block_id: str, kind: BlockKind, text: str, hint: str = "") -> None:
        self._add(Block(block_id, kind, TextSource(_plain(kind, hint))))
        self.append(block_id, text)
        self.finish(block_id)

    def _add(self, block: Block) -> None:
        before = self.shelf.blocks[-1].kind if self.shelf.blocks else None
        close = block.kind in _CLOSE and before not in _APART
        follows = block.kind is BlockKind.ANSWER and before is BlockKind.THINKING
        follows |= block.kind is before is BlockKind.TOOL
        block.gap = int(before is not None and not close and not follows)
        # A header may be drawn before anything is painted, and is to look as it will.
        block.canvas = self._canvas
        self.shelf.add(block)
        self._changed(block)

    def _changed(self, block: Block) -> None:
        """Paint a block that somebody sees grow; any other waits until it is looked at."""
        index = self.shelf.index(block.id)
        block.is_painted = False
        if block.painter is not None or not block.finished:
            self._queue.put(index)
        else:
            self._queue.drop(index)
            self._estimate(block)
        self._wake()

    def _estimate(self, block: Block) -> None:
        if self._canvas is not None and block.painter is None:
            block.estimate(self._canvas)
            self.shelf.measure(self.shelf.index(block.id))

    def _refold(self, block: Block) -> None:
        """Rows have come or gone without any painting."""
        index = self.shelf.index(block.id)
        self._looked_at = None
        self.shelf.measure(index)
        self._rows_moved(self.shelf.start(index))

    def _rows_moved(self, first: int) -> None:
        if self._canvas is not None and self.is_attached:
            if self.text_selection is not None:
                self.screen.clear_selection()
            self._looked_at = None
            self._show_change(first, None)
            self._wake()

    def _cut(self, count: int) -> None:
        self.shelf.cut(count)
        self._queue.cut(count)
        self._anchor = None
        self._strips.clear()
        self._rows_moved(0)

    def on_click(self, event: events.Click) -> None:
        """Fold at a header, go to the end at the marker, select a word or line, ask for a link."""
        if event.chain > 1:
            # Textual would select the whole chat.
            event.prevent_default()
            self.select_around(event.x, event.y, words=event.chain == 2)
            return
        if self.unseen and event.y == self.size.height - 1 and event.x > self.size.width - 16:
            self.scroll_end(animate=False)
            return
        found = self.shelf.row_at(self.scroll_offset.y + event.y)
        if found is None:
            return
        row, block = found
        is_tool = block.kind is BlockKind.TOOL and row is block.row(block.lead)
        if is_tool or (block.has_header and row is block.header()):
            self.toggle_fold(block.id)
        elif self.text_selection is None and (address := self.link_at(event.x, event.y)):
            # a selection that is still there was dragged just now
            self.post_message(self.LinkClicked(address))
