"""Asks whether an answer that is coming shall be stopped for something else."""

import time
from collections.abc import Callable

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.modals.yes_no import YesNoDialog
from ollm_tui.tui.widgets.reading import Passage


class StopAnswer(YesNoDialog):
    """Gives whether to stop it."""

    def __init__(
        self, model: str, deed: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Ask before something that ends the answer: `deed` is what, as in `start a new chat`."""
        super().__init__(
            "An answer is in progress",
            f"Stop it and {deed}?",
            Passage("Model", clean_name(model)),
            yes="stop it",
            no="or Esc keep it",
            clock=clock,
        )
