"""Dialogs that several features open: questions, lists, help, the palette and approvals."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.dialogs.approver import ScreenApprover
    from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
    from ollm_tui.tui.dialogs.dialog import LOW_SCREEN, SUSPEND, Dialog, DialogOpener, LeftOnce
    from ollm_tui.tui.dialogs.dialogs import Dialogs
    from ollm_tui.tui.dialogs.filter_list import (
        MAX_FILTER_LENGTH,
        FilterList,
        fill_list,
        move_highlight,
    )
    from ollm_tui.tui.dialogs.form import ScreenForms
    from ollm_tui.tui.dialogs.help import Help
    from ollm_tui.tui.dialogs.palette import Palette, PaletteEntry, palette_entries
    from ollm_tui.tui.dialogs.questions import (
        ChoiceDialog,
        ChoiceRow,
        LineEntry,
        SaveCopyDialog,
        YesNoDialog,
        short_path,
    )
    from ollm_tui.tui.dialogs.reading import Passage, Reading
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "approver": ("ScreenApprover",),
            "armed": ("ArmedDialog", "WAITING", "named_keys"),
            "dialog": ("Dialog", "DialogOpener", "LOW_SCREEN", "LeftOnce", "SUSPEND"),
            "dialogs": ("Dialogs",),
            "filter_list": ("FilterList", "MAX_FILTER_LENGTH", "fill_list", "move_highlight"),
            "form": ("ScreenForms",),
            "help": ("Help",),
            "palette": ("Palette", "PaletteEntry", "palette_entries"),
            "questions": (
                "ChoiceRow",
                "ChoiceDialog",
                "LineEntry",
                "SaveCopyDialog",
                "YesNoDialog",
                "short_path",
            ),
            "reading": ("Passage", "Reading"),
        },
    )

__all__ = [
    "LOW_SCREEN",
    "MAX_FILTER_LENGTH",
    "SUSPEND",
    "WAITING",
    "ArmedDialog",
    "ChoiceDialog",
    "ChoiceRow",
    "Dialog",
    "DialogOpener",
    "Dialogs",
    "FilterList",
    "Help",
    "LeftOnce",
    "LineEntry",
    "Palette",
    "PaletteEntry",
    "Passage",
    "Reading",
    "SaveCopyDialog",
    "ScreenApprover",
    "ScreenForms",
    "YesNoDialog",
    "fill_list",
    "move_highlight",
    "named_keys",
    "palette_entries",
    "short_path",
]
