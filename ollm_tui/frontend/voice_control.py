"""What a chat, its keys and its commands use of speech; the rest is loaded when it is used."""

from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.notes import SayWithHint, SpeechLine
from ollm_tui.protocol.chat_events import ChatEvent

if TYPE_CHECKING:
    from ollm_tui.frontend.dictation import Dictation
    from ollm_tui.frontend.reading_aloud import ReadAloud
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.media.voice import Voice

SpeechWork: TypeAlias = Literal["speech", "dictation"]
"""Reading aloud, or listening."""


@dataclass
class VoiceControl:
    """Dictates and reads aloud, one of them at a time: a microphone hears what is read."""

    runtime: "Runtime"
    make_line: Callable[[], SpeechLine]
    """Makes the line when speech is used for the first time."""
    insert_text: Callable[[str], None]
    """Takes what was dictated."""
    run: Callable[[Coroutine[Any, Any, None], SpeechWork], object]
    """Runs work in the background."""
    cancelled: Callable[[], None]
    """Called when a dictation was cancelled."""
    say: SayWithHint

    @cached_property
    def _voice(self) -> "Voice":
        # imported when speech is used for the first time, as all below
        from ollm_tui.runtime.media.voice import Voice

        return Voice(self.runtime)

    @cached_property
    def _line(self) -> SpeechLine:
        return self.make_line()

    @cached_property
    def _dictation(self) -> "Dictation":
        # brings the devices
        from ollm_tui.frontend.dictation import Dictation

        return Dictation(self._voice, self._line, self.insert_text, self.say)

    @cached_property
    def _reading(self) -> "ReadAloud":
        # brings the devices
        from ollm_tui.frontend.reading_aloud import ReadAloud

        return ReadAloud(self._voice, self._line, self.say)

    # What is going on

    @property
    def is_dictating(self) -> bool:
        """Whether there is a dictation to cancel."""
        return "_dictation" in vars(self) and self._dictation.is_running

    @property
    def is_recording(self) -> bool:
        """Whether the microphone is on."""
        return "_dictation" in vars(self) and self._dictation.is_recording

    @property
    def is_reading(self) -> bool:
        """Whether something is being read aloud."""
        return "_reading" in vars(self) and self._reading.is_running

    # Dictation

    def dictate(self, file: str = "") -> None:
        """Record and insert what was said, or what a file says; the second time ends recording."""
        if self.is_dictating:
            self.insert()
            return
        self.stop()
        self.run(self._dictation.run(file), "dictation")

    def insert(self) -> None:
        """End the recording and insert its text."""
        self._dictation.end_recording()

    def cancel(self) -> None:
        """End the dictation without a text."""
        self._dictation.cancel()
        self.cancelled()

    # Reading aloud

    def read(self, text: str) -> None:
        """Read a text aloud in place of what is read now."""
        self.stop()
        if not self.is_dictating:
            self.run(self._reading.read(text), "speech")

    async def read_answers(self, is_on: bool) -> None:
        """Read every answer aloud from now on, or no more.

        Raises:
            AIError: no model speaks, or nothing plays here.
        """
        if is_on:
            await self._reading.switch_on()
        elif "_reading" in vars(self):
            self._reading.switch_off()

    def stop(self) -> None:
        """Stop reading at once."""
        if self.is_reading:
            self._reading.stop()

    # The answers, as the queue of prompts tells of them

    def begin_answer(self) -> None:
        """Stop reading the answer before."""
        self.stop()
        if "_reading" in vars(self) and not self.is_dictating:
            self._reading.expect_answer()

    def take(self, event: ChatEvent) -> None:
        """Read what arrives."""
        if "_reading" in vars(self) and (work := self._reading.take(event)) is not None:
            self.run(work, "speech")

    def end_answer(self) -> None:
        """Read what is left of the answer."""
        if "_reading" in vars(self):
            self._reading.end_answer()
