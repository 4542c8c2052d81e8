"""Asks whether a download of which much has come shall be given up."""

import time
from collections.abc import Callable
from typing import Final

from ollm_tui.library.downloads.job import Job
from ollm_tui.tui.dialogs.reading import Passage
from ollm_tui.tui.dialogs.yes_no import YesNoDialog
from ollm_tui.tui.downloads.dock_rows import ShownName, title_of
from ollm_tui.tui.figures import amount

MUCH_BYTES: Final = 50_000_000
"""From so much on it is asked: less has come again soon."""


class CancelDownload(YesNoDialog):
    """Gives whether to cancel; to pause instead is named, as that keeps everything."""

    def __init__(
        self, job: Job, shown_name: ShownName, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(
            "Cancel the download?",
            "The part downloaded so far is deleted. Pausing keeps it.",
            Passage(amount(job.completed, job.total), title_of(job, shown_name)),
            yes="cancel and delete the partial file",
            no="or Esc keep downloading",
            clock=clock,
        )
