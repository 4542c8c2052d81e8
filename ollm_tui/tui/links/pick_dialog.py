"""Choose one of several links."""

from collections.abc import Sequence
from typing import Final

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.dialogs import FilterList
from ollm_tui.tui.painters import FoundLink
from ollm_tui.tui.widgets import cut

MAX_LINKS: Final = 300
"""Rows listed at once; typing finds the others."""
_LOOKED_AT: Final = 2_000


class LinkPicker(FilterList[str | None]):
    """Returns the address of a link."""

    HEADING = "Links in the last answer and from its tools"
    DEFAULT_CSS = """
    LinkPicker > Vertical { width: 96; height: 22; }
    """

    def __init__(self, links: Sequence[FoundLink]) -> None:
        super().__init__()
        self._links = [(link.address, _label(link)) for link in links]

    def show_rows(self, mark: str | None = None) -> None:
        """List the links that match."""
        words = self.query_text.casefold().split()
        kept = [
            (number, label)
            for number, (_address, label) in enumerate(self._links)
            if all(word in label.casefold() for word in words)
        ]
        width = self.row_width
        rows = [Option(Content(cut(label, width)), id=str(number)) for number, label in kept]
        self.fill(rows[:MAX_LINKS], mark=mark)
        more = (
            f"{len(kept) - MAX_LINKS:,} more: type to find them · " if len(kept) > MAX_LINKS else ""
        )
        self.say(f"{more}Enter open · Esc close" if kept else "No link matches.")

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._links[int(event.option_id or 0)][0])


def _label(link: FoundLink) -> str:
    text, address = link.text[:_LOOKED_AT], link.address[:_LOOKED_AT]
    is_seen = address.removeprefix("mailto:") in text
    return clean_name(text if is_seen else f"{text} ({address})")
