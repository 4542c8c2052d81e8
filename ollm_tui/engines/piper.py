"""Speech by the voices of Piper, in sherpa-onnx.

A voice is a file `NAME.onnx` with its description in `NAME.onnx.json`. The engine wants part of the
description inside the first file, and a list of phonemes in another one: both are made in memory
where the system can do that.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.engines.espeak import Phonemes
from ollm_tui.engines.host import Instructions, Job, JobError, Result, file_in_memory, serve
from ollm_tui.engines.speech import clauses, number_of, speak_sentences

if TYPE_CHECKING:
    import sherpa_onnx

_METADATA, _KEY, _VALUE = 14, 1, 2
"""Numbers of the fields in an ONNX file: `metadata_props` of the model, and its two parts."""
_DELIMITED: Final = 2
_FULL: Final = 32767
_MARKS: Final = frozenset(",;:.!?…")


class Piper:
    """Speaks with one voice."""

    def __init__(
        self,
        voice: "sherpa_onnx.OfflineTts",
        description: Mapping[str, Any],
        phonemes: Phonemes,
        options: Mapping[str, Any],
    ) -> None:
        self._voice = voice
        self._speakers: Mapping[str, int] = description.get("speaker_id_map") or {}
        self._known = frozenset(description["phoneme_id_map"])
        self._phonemes = phonemes
        self._options = options

    def run(self, job: Job) -> Result:
        """Speak the text of a job."""
        # Loaded with the voice; a type that only this function needs.
        from sherpa_onnx import GenerationConfig

        settings = GenerationConfig()
        usual = number_of(self._options, "speed", 1.0, 0.25, 4.0)
        settings.speed = number_of(job.fields, "speed", usual, 0.25, 4.0)
        settings.sid = self._speaker(job.fields.get("voice") or self._options.get("voice"))

        def sound_of(text: str) -> bytes:
            codes = self._codes(text, job)
            if not codes:
                return b""
            settings.phoneme_codepoints = [codes]
            made = self._voice.generate(text, settings, lambda *_: 0 if job.is_cancelled else 1)
            return _samples(made.samples)

        return speak_sentences(job, self._voice.sample_rate, sound_of)

    def _speaker(self, wanted: Any) -> int:
        if wanted is None:
            return 0
        if isinstance(wanted, str) and wanted in self._speakers:
            return self._speakers[wanted]
        if (
            isinstance(wanted, str)
            and wanted.isdecimal()
            and int(wanted)
            in {
                *self._speakers.values(),
                0,
            }
        ):
            return int(wanted)
        names = ", ".join([*self._speakers][:10])
        raise JobError(
            f"This model has no voice {str(wanted)[:64]}.",
            f"It has: {names}." if names else "It has one voice: leave the voice out.",
            code="BAD_REQUEST",
        )

    def _codes(self, sentence: str, job: Job) -> Sequence[int]:
        """Return the phonemes that the voice knows, with the marks between the clauses."""
        parts = []
        for clause in clauses(sentence):
            spoken = self._phonemes.of(clause, job)
            if spoken:
                mark = clause[-1] if clause[-1] in _MARKS else ""
                parts.append(spoken + mark.replace("…", "."))
        text = unicodedata.normalize("NFD", " ".join(parts))
        return [ord(one) for one in text if one in self._known]


def _samples(values: Sequence[float]) -> bytes:
    # Only the child pays for it.
    import array
    import sys

    made = array.array("h", (int(max(-1.0, min(1.0, one)) * _FULL) for one in values))
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def load(instructions: Instructions) -> Piper:
    """Load a voice.

    Raises:
        ValueError: its files are no voice.
    """
    # Imported first, so that a missing package is reported before anything else.
    import sherpa_onnx

    beside = Path(instructions.files["description"])
    description = read_description(beside.read_bytes(), beside.name)
    phonemes = Phonemes(instructions.files.get("espeak"), _espeak_voice(description))
    threads = int(number_of(instructions.options, "threads", 1, 1, 64))
    inference = description.get("inference") or {}
    described = _described(Path(instructions.model), description)
    with file_in_memory(described) as model_file, file_in_memory(_tokens(description)) as tokens:
        vits = sherpa_onnx.OfflineTtsVitsModelConfig(
            model=model_file,
            lexicon="",
            tokens=tokens,
            data_dir="",
            noise_scale=number_of(inference, "noise_scale", 0.667, 0, 2),
            noise_scale_w=number_of(inference, "noise_w", 0.8, 0, 2),
            length_scale=number_of(inference, "length_scale", 1.0, 0.1, 10),
        )
        model = sherpa_onnx.OfflineTtsModelConfig(vits=vits, num_threads=threads, provider="cpu")
        config = sherpa_onnx.OfflineTtsConfig(model=model, max_num_sentences=1)
        try:
            voice = sherpa_onnx.OfflineTts(config)
        except RuntimeError as error:
            reason = str(error).rpartition("failed:")[2]
            raise ValueError(f"its file cannot be read: {reason}") from error
    return Piper(voice, description, phonemes, instructions.options)


def read_description(content: bytes, name: str) -> dict[str, Any]:
    """Return the description of a voice; `name` is that of its file.

    Raises:
        ValueError: it is none.
    """
    try:
        description = json.loads(content)
        is_voice = (
            isinstance(description["phoneme_id_map"], dict)
            and isinstance(description["audio"]["sample_rate"], int)
            and isinstance(description.get("speaker_id_map") or {}, dict)
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        is_voice = False
    if not is_voice:
        raise ValueError(f"{name} does not describe a voice")
    return dict(description)


def _espeak_voice(description: Mapping[str, Any]) -> str:
    espeak = description.get("espeak")
    voice = espeak.get("voice") if isinstance(espeak, dict) else None
    if not isinstance(voice, str):
        raise ValueError("its description names no language")  # noqa: TRY004 -- a broken file
    return voice


def _described(model: Path, description: Mapping[str, Any]) -> bytes:
    """Return the model's file with the metadata that the engine reads."""
    metadata = {
        "model_type": "vits",
        "comment": "piper",
        "language": str((description.get("language") or {}).get("name_english", "English")),
        "voice": _espeak_voice(description),
        "has_espeak": 1,
        "n_speakers": description.get("num_speakers") or 1,
        "sample_rate": description["audio"]["sample_rate"],
    }
    entries = (
        _field(_METADATA, _field(_KEY, key.encode()) + _field(_VALUE, str(value).encode()))
        for key, value in metadata.items()
    )
    return model.read_bytes() + b"".join(entries)


def _field(number: int, data: bytes) -> bytes:
    """Return a field of a protocol buffer that holds bytes."""
    return _varint(number << 3 | _DELIMITED) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    written = b""
    while value > 127:
        written += bytes([value & 127 | 128])
        value >>= 7
    return written + bytes([value])


def _tokens(description: Mapping[str, Any]) -> bytes:
    lines = (
        f"{symbol} {numbers[0]}\n"
        for symbol, numbers in description["phoneme_id_map"].items()
        if isinstance(numbers, list) and numbers
    )
    return "".join(lines).encode()


if __name__ == "__main__":
    serve(load)
