"""What the chat, its keys and its commands use of speech; the rest is loaded when it is used."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ollm_tui.protocol.chat_events import ChatEvent
from ollm_tui.tui.composer import Composer
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Say
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.media.voice import Voice
    from ollm_tui.tui.voice.dictation import Dictation
    from ollm_tui.tui.voice.line import VoiceLine
    from ollm_tui.tui.voice.reading import ReadAloud

_READING = "speech"
_DICTATION = "dictation"


@dataclass
class VoiceControl:
    """Dictates and reads aloud, one of them at a time: a microphone hears what is read."""

    runtime: "Runtime"
    composer: Composer
    hints: HintLine
    dialogs: Dialogs
    keymap: Keymap
    say: Say

    @cached_property
    def _voice(self) -> "Voice":
        # imported when speech is used for the first time, as all below
        from ollm_tui.runtime.media.voice import Voice

        return Voice(self.runtime)

    @cached_property
    def _line(self) -> "VoiceLine":
        # drawn when speech is used
        from ollm_tui.tui.voice.line import VoiceLine

        line = VoiceLine(self.keymap.key_for)
        self.composer.screen.mount(line, after=self.composer)
        return line

    @cached_property
    def _dictation(self) -> "Dictation":
        # brings the devices
        from ollm_tui.tui.voice.dictation import Dictation

        return Dictation(self._voice, self._line, self.composer.insert_dictated, self.say)

    @cached_property
    def _reading(self) -> "ReadAloud":
        # brings the devices
        from ollm_tui.tui.voice.reading import ReadAloud

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
        self.dialogs.run(self._dictation.run(file), _DICTATION)

    def insert(self) -> None:
        """End the recording and insert its text."""
        self._dictation.end_recording()

    def cancel(self) -> None:
        """End the dictation without a text."""
        self._dictation.cancel()
        self.hints.flash("Dictation cancelled", FLASH_S)

    # Reading aloud

    def read(self, text: str) -> None:
        """Read a text aloud in place of what is read now."""
        self.stop()
        if not self.is_dictating:
            self.dialogs.run(self._reading.read(text), _READING)

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
            self.dialogs.run(work, _READING)

    def end_answer(self) -> None:
        """Read what is left of the answer."""
        if "_reading" in vars(self):
            self._reading.end_answer()
