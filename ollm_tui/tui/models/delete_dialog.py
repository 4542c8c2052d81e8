"""Asks whether a model shall be deleted: what, how large, where, and who needs it."""

import time
from collections.abc import Callable, Sequence

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.tui.dialogs.reading import Passage
from ollm_tui.tui.dialogs.yes_no import YesNoDialog
from ollm_tui.tui.figures import size


class DeleteModel(YesNoDialog):
    """Gives whether to delete it; no is the default."""

    def __init__(
        self,
        info: ModelInfo,
        place: str,
        *,
        is_own: bool,
        is_loaded: bool,
        other_names: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask about a model at `place`; `is_own` when it answers in the open chat.

        Under `other_names` the same model stays there.
        """
        known = info.size_bytes
        amount = size(known) if known and known > 0 else "size unknown"
        notes = [
            "The open chat uses it and will have no model." if is_own else "",
            "It is loaded now." if is_loaded else "",
            _way_back(other_names),
        ]
        super().__init__(
            "Delete this model permanently?",
            "\n".join(note for note in notes if note),
            Passage(f"{amount} · {clean_name(place)}", info.name),
            yes="delete",
            no="or Esc keep it",
            clock=clock,
        )


def _way_back(other_names: Sequence[str]) -> str:
    if not other_names:
        return "To get it back you have to download it again."
    more = len(other_names) - 1
    others = f" and under {counted(more, 'other name')}" if more else ""
    return (
        f"Only this name is deleted: the same model stays as {clean_name(other_names[0])}{others}."
    )
