"""What is folded in a transcript: thinking, long prompts, and the output of tools."""

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters import Fold, ToolPainter
from ollm_tui.tui.transcript.block import (
    Block,
    BlockKind,
    TextSource,
    ToolSource,
)
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.painting import PaintScheduler
from ollm_tui.tui.transcript.scroller import Scroller
from ollm_tui.tui.transcript.selection import RowSelection
from ollm_tui.tui.widgets import long_summary, needs_folding


@dataclass(eq=False)
class Folding:
    """Folds and unfolds blocks; the view stays where it is."""

    _block_list: BlockList
    _painting: PaintScheduler
    _scroller: Scroller
    _selection: RowSelection
    streams_thinking: bool
    """Whether thinking is shown while it comes."""
    show_thinking: bool
    """Whether finished thinking stays open."""

    def begin_thinking(self, block: Block) -> None:
        """Fold thinking that begins, unless it is shown while it streams."""
        is_open = self.streams_thinking or self.show_thinking
        block.fold(block.stays_folded or not is_open)

    def end_thinking(self, block: Block, summary: str) -> None:
        """Fold thinking that has ended to its summary, unless it is to stay open."""
        block.fold(block.stays_folded or not self.show_thinking, summary)
        if block.painter is not None:
            self._painting.folded(block)

    def fold_long(self, block: Block, text: str) -> None:
        """Fold a prompt whose text is long."""
        if needs_folding(text):
            block.is_long = True
            block.fold(True, long_summary(text))
            self._painting.folded(block)

    def toggle(self, block_id: str, *, only_open: bool = False) -> None:
        """Fold or unfold one block of thinking, a long prompt, or the output of a tool."""
        block = self._block_list.block(block_id)
        if block.has_header:
            block.fold(not block.folded and not only_open)
            self._painting.folded(block)
        elif block.kind is BlockKind.TREE:
            self._fold_tree(block, only_open=only_open)
        elif only_open:
            self._fold_tool(block, "open")
        elif isinstance(block.painter, ToolPainter):
            self._fold_tool(block, block.painter.next_fold())

    def show_running(self, block_id: str, output: str) -> None:
        """Show the end of what a command has printed so far; a no-op once it has ended."""
        blocks = self._block_list
        block = blocks.block(block_id) if block_id in blocks else None
        if block is not None and isinstance(block.source, ToolSource) and not block.finished:
            block.source.show(output)
            if isinstance(block.painter, ToolPainter):
                block.painter.repaint()
            self._painting.changed(block)

    def show_time(self, block_id: str, seconds: float) -> None:
        """Show how long a tool has been running; a no-op once it has ended."""
        blocks = self._block_list
        block = blocks.block(block_id) if block_id in blocks else None
        if block is not None and isinstance(block.source, ToolSource) and not block.finished:
            block.source.seconds = seconds
            if isinstance(block.painter, ToolPainter):
                block.painter.repaint()
            self._painting.changed(block)

    def toggle_tools(self) -> bool:
        """Unfold the output of all tools, or fold it; False when there is no tool."""
        blocks = self._block_list.blocks
        tools = [(b, b.source) for b in blocks if isinstance(b.source, ToolSource)]
        is_any_folded = any(source.fold != "open" for _block, source in tools)
        self._scroller.keep_top()
        for block, source in tools:
            self._fold_tool(block, "open" if is_any_folded else source.closed)
        self._painting.rows_moved(0)
        return bool(tools)

    def _fold_tool(self, block: Block, fold: Fold) -> None:
        self._selection.clear()
        if isinstance(block.source, ToolSource):
            block.source.fold = fold
        if isinstance(block.painter, ToolPainter):
            block.painter.repaint()
            self._painting.changed(block)
        else:
            self._painting.estimate(block)

    def show_tree(self, block: Block) -> None:
        """Show a finished answer, which is JSON, as a tree."""
        # Imported with the first tree, as the Markdown painters are with the first answer.
        from ollm_tui.tui.painters import TreeSource

        block.kind, block.source = BlockKind.TREE, TreeSource(block.source.text)
        block.painter, block.is_painted = None, False
        self._painting.changed(block)
        self._painting.folded(block)

    def empty(self, block: Block, nothing: TextSource) -> None:
        """Make a block an empty answer, which takes no row."""
        block.kind, block.source, block.gap = BlockKind.ANSWER, nothing, 0
        block.painter, block.is_painted, block.finished = None, False, True
        self._painting.changed(block)
        self._painting.folded(block)

    def _fold_tree(self, block: Block, *, only_open: bool) -> None:
        # There is a tree, so its painters are loaded.
        from ollm_tui.tui.painters import TreeSource

        if isinstance(block.source, TreeSource) and block.source.tree is not None:
            tree = block.source.tree
            if only_open or not tree.is_open:
                tree.unfold()
            else:
                tree.fold()
            self._repaint_tree(block)

    def toggle_node(self, block: Block, row: int) -> bool:
        """Fold or unfold the object or list that a row of a tree shows; False for no such row."""
        # There is a tree, so its painters are loaded.
        from ollm_tui.tui.painters import TreePainter, TreeSource

        if not isinstance(block.painter, TreePainter) or not isinstance(block.source, TreeSource):
            return False
        path = block.painter.path_at(row)
        if path is None or block.source.tree is None:
            return False
        block.source.tree.toggle(path)
        self._repaint_tree(block)
        return True

    def _repaint_tree(self, block: Block) -> None:
        # There is a tree, so its painters are loaded.
        from ollm_tui.tui.painters import TreePainter

        self._selection.clear()
        if isinstance(block.painter, TreePainter):
            block.painter.repaint()
            self._painting.changed(block)
        else:
            self._painting.estimate(block)

    def toggle_thinking(self) -> None:
        """Fold all thinking if the newest is open, else unfold it; later thinking follows suit."""
        blocks = self._block_list.blocks
        newest = next((b for b in reversed(blocks) if b.kind is BlockKind.THINKING), None)
        self.show_thinking = newest.folded if newest else not self.show_thinking
        if newest and not newest.finished:
            self.streams_thinking = self.show_thinking
        self._scroller.keep_top()
        for index, block in enumerate(blocks):
            if block.kind is BlockKind.THINKING and block.folded is self.show_thinking:
                block.fold(not self.show_thinking)
                self._block_list.measure(index)
        self._painting.rows_moved(0)
        self._scroller.let_go()
