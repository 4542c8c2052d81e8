"""What every front end shows in its own way: notes beside the conversation, and what is heard."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ollm_tui.commands.host import Severity


class SayWithHint(Protocol):
    """Shows a note, on a screen or in lines."""

    def __call__(self, text: str, kind: "Severity" = "info", hint: str | None = None) -> None:
        """Show a sentence, and what to do next."""


class SpeechLine(Protocol):
    """Where a front end shows what is heard or read."""

    def show_busy(self, text: str) -> None:
        """Show what goes on, and how it is cancelled."""

    def begin_recording(self, model: str) -> None:
        """Show that the microphone is on, and which model gets the recording."""

    def show_level(self, level: float, seconds: float) -> None:
        """Show how loud it is, and how long the recording."""

    def show_reading(self) -> None:
        """Show that something is read aloud."""

    def hide(self) -> None:
        """Show that it is over."""


async def report_errors(work: Awaitable[object], say: SayWithHint) -> None:
    """Await `work`; an `AIError` becomes a note."""
    # part of the vocabulary, which the first frame does not wait for
    from ollm_tui.protocol.errors import AIError

    try:
        await work
    except AIError as error:
        say(error.message, "error", error.hint)
