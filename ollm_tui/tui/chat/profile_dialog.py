"""Choose a profile for the open chat."""

from collections.abc import Mapping

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ollm_tui.config.profiles import NO_PROFILE
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.tui.dialogs import FilterList

_WITHOUT = "no profile"
_NAME_WIDTH = 20
"""Cells of a name, in a list with longer ones; a line about the profile follows."""


class ProfilePicker(FilterList[str | None]):
    """Returns the name of the chosen profile, `none` for the settings without one."""

    HEADING = "Choose a profile"
    DEFAULT_CSS = """
    ProfilePicker > Vertical { width: 76; height: 18; }
    """

    def __init__(self, profiles: Mapping[str, str], used: str | None) -> None:
        """List these profiles, each with a line about it; `used` is the one of the chat."""
        super().__init__()
        self._profiles = {**profiles, NO_PROFILE: _WITHOUT}
        self._used = used or NO_PROFILE

    def on_mount(self) -> None:
        """List all, with the one of the chat marked."""
        self.show_rows(self._used)

    def show_rows(self, mark: str | None = None) -> None:
        """List the profiles that match."""
        words = self.query_text.casefold().split()
        kept = {
            name: about
            for name, about in self._profiles.items()
            if all(word in f"{name} {about}".casefold() for word in words)
        }
        rows = [Option(self._row(name, about), id=name) for name, about in kept.items()]
        self.fill(rows, mark=mark)
        self.say("Enter choose · Esc close" if kept else "No profile matches.")

    def _row(self, name: str, about: str) -> Content:
        width = max(len(clean_name(one)) for one in self._profiles)
        title = Content(clean_name(name)).truncate(min(width, _NAME_WIDTH), ellipsis=True, pad=True)
        line = Content.assemble(title, "  ", (clean_line(about), "$text-muted"))
        return line.truncate(self.row_width, ellipsis=True)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
