"""Asks whether to send a message without its pictures to a model that reads only text."""

import time
from collections.abc import Callable

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.dialogs.questions import YesNoDialog
from ollm_tui.tui.dialogs.reading import Passage


class LeaveOutPictures(YesNoDialog):
    """Gives whether to send it; opens after Enter, when somebody may be typing on."""

    def __init__(
        self, model: str, count: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        them = "1 picture is" if count == 1 else f"{count} pictures are"
        super().__init__(
            "This model accepts text only",
            f"{them} not sent to it."
            " The chat keeps everything, and a model with vision gets it again.",
            Passage("Model", clean_name(model)),
            yes="send without pictures",
            no="or Esc back to the input",
            clock=clock,
        )
