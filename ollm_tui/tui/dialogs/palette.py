"""The command palette: run a key's action or a slash command by typing a part of what it does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.dialogs.filter_list import FilterList
from ollm_tui.tui.keys import Key

if TYPE_CHECKING:
    from ollm_tui.commands.registry import Command


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One line of the palette."""

    title: str
    reach: str
    """The key or the command that does the same."""
    action: str = ""
    """The screen's action; empty for a command."""


def palette_entries(keys: Sequence[Key], commands: "Sequence[Command]") -> list[PaletteEntry]:
    """Return an entry for each key that has one, and for each command that no key does."""
    shown = [key for key in keys if key.in_palette]
    listed = [PaletteEntry(key.description, key.shown, key.action) for key in shown]
    covered = {key.command for key in shown}
    return listed + [
        PaletteEntry(command.help.rstrip("."), f"/{command.name}")
        for command in commands
        if command.name not in covered
    ]


def matching(listed: Sequence[PaletteEntry], query: str) -> list[PaletteEntry]:
    """Return the entries with every word of the query, those that begin with it first."""
    words = query.lower().split()
    kept = [
        entry
        for entry in listed
        if all(word in f"{entry.title} {entry.reach}".lower() for word in words)
    ]
    return sorted(kept, key=lambda entry: not entry.title.lower().startswith(query.lower()))


class Palette(FilterList[PaletteEntry | None]):
    """Returns the chosen entry; the opener runs it."""

    HEADING = "Commands"
    DEFAULT_CSS = """
    Palette > Vertical { width: 64; height: 22; }
    """

    def __init__(self, listed: Sequence[PaletteEntry]) -> None:
        super().__init__()
        self._entries = listed
        self._shown: dict[str, PaletteEntry] = {}

    def show_rows(self, mark: str | None = None) -> None:
        """List the entries that match."""
        kept = matching(self._entries, self.query_text)
        # two commands may have the same help
        self._shown = {f"{entry.title}/{entry.reach}": entry for entry in kept}
        self.fill([Option(self._row(one), id=key) for key, one in self._shown.items()], mark=mark)
        self.say("Enter run · Esc close" if kept else "No command matches.")

    def _row(self, entry: PaletteEntry) -> Content:
        room = self.row_width - len(entry.reach) - 2
        title = Content(entry.title).truncate(max(4, room), ellipsis=True, pad=True)
        return Content.assemble(title, "  ", (entry.reach, "$text-muted"))

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown.get(event.option_id or ""))
