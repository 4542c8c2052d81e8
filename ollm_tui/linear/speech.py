"""Dictation into the prompt line and reading aloud, in words."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.notes import SayWithHint
from ollm_tui.frontend.voice_control import SpeechWork, VoiceControl
from ollm_tui.linear.work import Work

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime


class SpokenState:
    """Says what is heard; that something is read aloud can be heard without words."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def show_busy(self, text: str) -> None:
        """Say what goes on."""
        self._write(f"{text}.")

    def begin_recording(self, model: str) -> None:
        """Say that the microphone is on."""
        self._write(f"Recording for {clean_name(model)}. Enter ends it, Escape cancels it.")

    def show_level(self, level: float, seconds: float) -> None:
        """Say nothing: words would be recorded."""

    def show_reading(self) -> None:
        """Say nothing: it can be heard."""

    def hide(self) -> None:
        """Say nothing: the text follows."""


def voice_in_lines(
    runtime: "Runtime",
    insert: Callable[[str], None],
    wait_for: Callable[[Work], None],
    begin: Callable[[Work], None],
    write: Callable[[str], None],
    say: SayWithHint,
) -> VoiceControl:
    """Return what listens while nothing else goes on, and reads aloud beside the chat."""

    def run(work: Work, kind: SpeechWork) -> None:
        if kind == "dictation":
            wait_for(work)
        else:
            begin(work)

    return VoiceControl(runtime, lambda: SpokenState(write), insert, run, lambda: None, say)
