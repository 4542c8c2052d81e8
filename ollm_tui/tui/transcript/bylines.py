"""What is said above the messages of the chat, changed for all of them at once."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.transcript.block import Byline
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.painting import PaintScheduler
from ollm_tui.tui.transcript.scroller import Scroller


@dataclass(eq=False)
class Bylines:
    """Changes what is said above messages; the view stays where it is."""

    _block_list: BlockList
    _painting: PaintScheduler
    _scroller: Scroller

    def show_siblings(self, counters: Mapping[str, tuple[int, int]]) -> None:
        """Show above these blocks which of how many messages theirs is, and above no others."""

        def changed(block_id: str, byline: Byline) -> Byline:
            number, count = counters.get(block_id, (0, 0))
            return replace(byline, number=number, count=count, _row=None)

        self._change(counters, changed)

    def show_facts(self, marked: Collection[str], times: Mapping[str, str]) -> None:
        """Show above these blocks that they are marked, and their times; above no others."""

        def changed(block_id: str, byline: Byline) -> Byline:
            time = times.get(block_id, "")
            return replace(byline, is_marked=block_id in marked, time=time, _row=None)

        self._change({*marked, *times}, changed)

    @property
    def marked(self) -> list[str]:
        """The ids of the blocks that are marked, in order."""
        blocks = self._block_list.blocks
        return [one.id for one in blocks if one.byline is not None and one.byline.is_marked]

    def _change(self, named: Iterable[str], changed: Callable[[str, Byline], Byline]) -> None:
        """Change what is said above these blocks, and above those that have something already."""
        listed, is_any = self._block_list, False
        wanted = {index for index, one in enumerate(listed.blocks) if one.byline is not None}
        wanted |= {listed.index(one) for one in named if one in listed}
        self._scroller.keep_top()
        for index in sorted(wanted):
            block = listed.blocks[index]
            before = block.byline or Byline()
            after = changed(block.id, before)
            if before.facts != after.facts:
                block.byline = after or None
                listed.measure(index)
                is_any = True
        if is_any:
            self._painting.rows_moved(0)
        self._scroller.let_go()
