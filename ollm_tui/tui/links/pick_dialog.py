"""Find all links of a text and choose one of them."""

from collections.abc import Sequence
from time import monotonic
from typing import Final

import anyio.lowlevel
from textual import on
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.dialogs.filter_list import FilterList
from ollm_tui.tui.transcript.painters.links import FoundLink, links_of
from ollm_tui.tui.transcript.painters.markdown import MarkdownPainter
from ollm_tui.tui.transcript.painters.rows import Canvas, Palette
from ollm_tui.tui.widgets.chrome import cut

SLICE_S = 0.008
_WIDTH = 400
"""Cells; wide enough to wrap few lines and cut no reasonable table."""
_ROWS_AT_ONCE = 2_000


async def links_in(markdown: str) -> list[FoundLink]:
    """Return the links of a Markdown text in order, each address once.

    The text is painted off screen, so that exactly the clickable links are found.
    """
    painter = MarkdownPainter(Canvas(_WIDTH, Palette()))
    painter.append(markdown)
    painter.finish()
    while painter.work(monotonic() + SLICE_S):
        await anyio.lowlevel.checkpoint()
    found: dict[str, FoundLink] = {}
    first = 0
    while first < painter.rows.row_count:
        end = min(first + _ROWS_AT_ONCE, painter.rows.row_count)
        while end < painter.rows.row_count and painter.rows.row(end).join is not None:
            end += 1
        for link in links_of(painter.rows.row(number) for number in range(first, end)):
            found.setdefault(link.address, link)
        first = end
        await anyio.lowlevel.checkpoint()
    return list(found.values())


MOST: Final = 300
"""Rows listed at once; typing finds the others."""
_LOOKED_AT: Final = 2_000


class PickLink(FilterList[str | None]):
    """Returns the address of a link."""

    HEADING = "Links in the last answer"
    DEFAULT_CSS = """
    PickLink > Vertical { width: 96; height: 22; }
    """

    def __init__(self, links: Sequence[FoundLink]) -> None:
        super().__init__()
        self._links = [(link.address, _label(link)) for link in links]

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show()

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        words = self.query_text.casefold().split()
        kept = [
            (number, label)
            for number, (_address, label) in enumerate(self._links)
            if all(word in label.casefold() for word in words)
        ]
        width = self.row_width
        rows = [Option(Content(cut(label, width)), id=str(number)) for number, label in kept]
        self.fill(rows[:MOST])
        more = f"{len(kept) - MOST:,} more: type to find them · " if len(kept) > MOST else ""
        self.say(f"{more}Enter open · Esc close" if kept else "No link matches.")

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._links[int(event.option_id or 0)][0])


def _label(link: FoundLink) -> str:
    text, address = link.text[:_LOOKED_AT], link.address[:_LOOKED_AT]
    is_seen = address.removeprefix("mailto:") in text
    return clean_name(text if is_seen else f"{text} ({address})")
