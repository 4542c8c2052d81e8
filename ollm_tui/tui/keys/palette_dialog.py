"""Find a command by typing a part of what it does."""

from collections.abc import Sequence

from textual import on
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ollm_tui.tui.dialogs.filter_list import FilterList
from ollm_tui.tui.keys.palette import Entry, matching


class Palette(FilterList[Entry | None]):
    """Gives the chosen entry; running it is the opener's business."""

    HEADING = "Commands"
    DEFAULT_CSS = """
    Palette > Vertical { width: 64; height: 22; }
    """

    def __init__(self, found: Sequence[Entry]) -> None:
        super().__init__()
        self._entries = found
        self._shown: dict[str, Entry] = {}

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show()

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        kept = matching(self._entries, self.query_text)
        self._shown = {entry.title: entry for entry in kept}
        self.fill([Option(self._row(entry), id=entry.title) for entry in kept])
        self.say("Enter run · Esc close" if kept else "No command matches.")

    def _row(self, entry: Entry) -> Content:
        room = self.row_width - len(entry.reach) - 2
        title = Content(entry.title).truncate(max(4, room), ellipsis=True, pad=True)
        return Content.assemble(title, "  ", (entry.reach, "$text-muted"))

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown.get(event.option_id or ""))
