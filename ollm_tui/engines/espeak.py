"""Speech by the program espeak-ng: robotic, in a hundred languages, and there at once.

espeak_command    the program with a voice and a speed
phonemes          how a text is pronounced, for engines that take phonemes
"""

import ctypes
import re
import struct
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from ollm_tui.engines.host import Instructions, Job, JobError, Result, run_program, serve
from ollm_tui.engines.speech import number_of, speak_sentences

WORDS_A_MINUTE: Final = 175
USUAL_VOICE: Final = "en-us"
_VOICE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,63}")
_HEADER: Final = struct.Struct("<4sI4s4sIHHIIHH4sI")
_NO_VOICE: Final = "espeak-ng has no voice {}."
_VOICE_HINT: Final = "`espeak-ng --voices` lists them: take a name of the column Language."
_SYNCHRONOUS, _IPA, _UTF8 = 2, 0x02, 1


def checked_voice(value: Any) -> str:
    """Return the name of a voice.

    Raises:
        JobError: it cannot be one.
    """
    if not isinstance(value, str) or not _VOICE.fullmatch(value):
        raise JobError(_NO_VOICE.format(str(value)[:64]), _VOICE_HINT, code="BAD_REQUEST")
    return value


class Espeak:
    """Speaks by running the program for each sentence."""

    def __init__(self, program: str, options: Mapping[str, Any]) -> None:
        self._program = program
        self._options = options

    def run(self, job: Job) -> Result:
        """Speak the text of a job."""
        voice = checked_voice(job.fields.get("voice") or self._options.get("voice") or USUAL_VOICE)
        usual = number_of(self._options, "speed", 1.0, 0.25, 4.0)
        speed = int(WORDS_A_MINUTE * number_of(job.fields, "speed", usual, 0.25, 4.0))
        command = (self._program, "--stdout", "-b", "1", "-v", voice, "-s", str(max(speed, 80)))
        rate = _rate(self._spoken(command, "a", voice, job))
        return speak_sentences(
            job, rate, lambda text: self._spoken(command, text, voice, job)[_HEADER.size :]
        )

    def _spoken(self, command: Sequence[str], text: str, voice: str, job: Job) -> bytes:
        try:
            return run_program(command, text.encode(errors="replace"), job)
        except JobError as error:
            if "voice" in error.message:
                message = _NO_VOICE.format(voice)
                raise JobError(message, _VOICE_HINT, code="BAD_REQUEST") from None
            raise


def _rate(sound: bytes) -> int:
    """Return the samples in a second of what the program writes.

    Raises:
        JobError: it is no such sound.
    """
    if len(sound) >= _HEADER.size:
        riff, _, wave, *_, channels, rate, _, _, bits, data, _ = _HEADER.unpack_from(sound)
        if (riff, wave, data, channels, bits) == (b"RIFF", b"WAVE", b"data", 1, 16):
            return int(rate)
    raise JobError("espeak-ng made no sound.", "Check that its data files are installed.")


class Phonemes:
    """Gives the pronunciation of texts: by the program, else by the package espeakng-loader."""

    def __init__(self, program: str | None, voice: str) -> None:
        self._program = program
        self._voice = checked_voice(voice)
        self._lock = threading.Lock()
        if program is None:
            self._library  # noqa: B018 -- loads it now

    def of(self, text: str, job: Job) -> str:
        """Return the phonemes of a clause."""
        if self._program is not None:
            command = (self._program, "-q", "--ipa", "-b", "1", "-v", self._voice)
            output = run_program(command, text.encode(errors="replace"), job).decode()
        else:
            output = self._by_library(text)
        return re.sub(r"\s+", " ", output.replace("_", "").replace("\u0361", "")).strip()

    @cached_property
    def _library(self) -> ctypes.CDLL:
        # Only for machines without the program.
        import espeakng_loader

        library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
        if library.espeak_Initialize(_SYNCHRONOUS, 0, data, 0) < 0:
            raise RuntimeError("espeakng-loader cannot be initialized")
        if library.espeak_SetVoiceByName(self._voice.encode()) != 0:
            raise RuntimeError(f"espeakng-loader has no voice {self._voice}")
        library.espeak_TextToPhonemes.restype = ctypes.c_char_p
        return library

    def _by_library(self, text: str) -> str:
        rest = ctypes.c_char_p(text.encode(errors="replace"))
        parts: list[str] = []
        with self._lock:
            while rest.value:
                part = self._library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IPA)
                parts.append((part or b"").decode(errors="replace"))
        return " ".join(parts)


def load(instructions: Instructions) -> Espeak:
    """Return the engine; its model is the program itself."""
    return Espeak(instructions.model, instructions.options)


if __name__ == "__main__":
    serve(load)
