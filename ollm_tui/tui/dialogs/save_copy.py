"""Asks whether a copy that no clipboard takes shall be written to a file."""

import time
from collections.abc import Callable
from pathlib import Path

from ollm_tui.config.paths import home_folder
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.tui.dialogs.reading import Passage
from ollm_tui.tui.dialogs.yes_no import YesNoDialog


class SaveCopy(YesNoDialog):
    """Gives whether to write it; opens long after the key, when somebody may be writing again."""

    def __init__(
        self,
        lines: int,
        characters: int,
        folder: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            "Too large for the clipboard",
            f"{characters:,} characters in {counted(lines, 'line')} are more than most"
            " terminals accept as their clipboard.\n\nSave them to a file? Only you can read it.",
            Passage("In the folder", short_path(folder)),
            yes="save to a file",
            no="or Esc no",
            clock=clock,
        )


def short_path(path: Path) -> str:
    """Write a path as people do, with `~` for the home folder."""
    try:
        home = home_folder()
        return clean_name(str(Path("~") / path.relative_to(home) if home else path))
    except ValueError:  # it is elsewhere
        return clean_name(str(path))
