"""Dialogs that several features open: questions, lists, help, the palette and approvals."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.dialogs.approver import ScreenApprover
    from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
    from ollm_tui.tui.dialogs.copying import Copying
    from ollm_tui.tui.dialogs.dialog import LOW, SUSPEND, Dialog, DialogOpener, LeftOnce
    from ollm_tui.tui.dialogs.dialogs import Dialogs
    from ollm_tui.tui.dialogs.filter_list import LONGEST_FILTER, FilterList, fill, move
    from ollm_tui.tui.dialogs.help import Help
    from ollm_tui.tui.dialogs.palette import Entry, Palette, entries
    from ollm_tui.tui.dialogs.questions import ChoiceRow, Choose, YesNoDialog
    from ollm_tui.tui.dialogs.reading import Passage, Reading
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "approver": ("ScreenApprover",),
            "armed": ("ArmedDialog", "WAITING", "named_keys"),
            "copying": ("Copying",),
            "dialog": ("Dialog", "DialogOpener", "LOW", "LeftOnce", "SUSPEND"),
            "dialogs": ("Dialogs",),
            "filter_list": ("FilterList", "LONGEST_FILTER", "fill", "move"),
            "help": ("Help",),
            "palette": ("Entry", "Palette", "entries"),
            "questions": ("ChoiceRow", "Choose", "YesNoDialog"),
            "reading": ("Passage", "Reading"),
        },
    )

__all__ = [
    "LONGEST_FILTER",
    "LOW",
    "SUSPEND",
    "WAITING",
    "ArmedDialog",
    "ChoiceRow",
    "Choose",
    "Copying",
    "Dialog",
    "DialogOpener",
    "Dialogs",
    "Entry",
    "FilterList",
    "Help",
    "LeftOnce",
    "Palette",
    "Passage",
    "Reading",
    "ScreenApprover",
    "YesNoDialog",
    "entries",
    "fill",
    "move",
    "named_keys",
]
