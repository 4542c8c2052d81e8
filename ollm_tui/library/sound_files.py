"""Model files that hear or speak, and what they say about themselves: whisper.cpp's and Piper's."""

import struct
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import open_binary, read_bounded
from ollm_tui.decode.json_fields import as_object, integer, present, string
from ollm_tui.library.file_names import DESCRIPTION_ENDING
from ollm_tui.library.traits import VOICE, WHISPER
from ollm_tui.protocol.json_types import JsonObject, JsonValue

WHISPER_MAGIC: Final = b"lmgg"
MAX_DESCRIPTION_BYTES: Final = 2 * 1024 * 1024
_HEADER: Final = struct.Struct("<11i")
_SIZES: Final[Mapping[int, str]] = {4: "tiny", 6: "base", 12: "small", 24: "medium", 32: "large"}
"""By the layers that hear."""
_TYPES: Final[Mapping[int, str]] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1",
}  # fmt: skip
_MULTILINGUAL: Final = 51_865
"""So many words a vocabulary has that is not for English alone."""
_MAX_NAMED: Final = 50


def whisper_facts(path: Path) -> JsonObject | None:
    """Return what a model file of whisper.cpp says; None if it is none. Blocks.

    Raises:
        OSError: it cannot be read.
    """
    with open_binary(path) as file:
        start = file.read(len(WHISPER_MAGIC) + _HEADER.size)
    if not start.startswith(WHISPER_MAGIC):
        return None
    facts: JsonObject = {"format": "ggml", "kind": WHISPER, "family": WHISPER}
    if len(start) < len(WHISPER_MAGIC) + _HEADER.size:
        return facts | {"problem": "it ends in the middle of its header"}
    words, contexts, width, _, layers, *_, bins, kind = _HEADER.unpack_from(start, 4)
    if min(words, contexts, width, layers, bins) <= 0 or max(layers, bins) > width:
        return facts | {"problem": "its header is no model's"}
    languages = "many languages" if words >= _MULTILINGUAL else "English"
    known = {"parameter_size": _SIZES.get(layers), "quantization": _TYPES.get(kind % 1000)}
    return facts | present(known) | {"languages": languages}


def voice_facts(path: Path) -> JsonObject | None:
    """Return what the description beside a voice of Piper says; None without one. Blocks.

    Raises:
        OSError: it cannot be read.
    """
    # Loads what processes with an engine need, and few people have voices.
    from ollm_tui.engines.piper import read_description

    beside = description_of(path)
    try:
        description = read_description(read_bounded(beside, MAX_DESCRIPTION_BYTES), beside.name)
    except (FileNotFoundError, ValueError):
        return None
    language, audio = as_object(description.get("language")), as_object(description["audio"])
    speakers = as_object(description.get("speaker_id_map"))
    voices = list[JsonValue](islice(speakers, _MAX_NAMED))
    espeak = as_object(description.get("espeak"))
    facts: JsonObject = {"format": "onnx", "kind": VOICE, "family": "piper"}
    return facts | present(
        {
            "languages": string(language, "name_english") or string(espeak, "voice"),
            "quality": string(audio, "quality"),
            "sample_rate": integer(audio, "sample_rate"),
            "voices": [*voices] or None,
        }
    )


def description_of(path: Path) -> Path:
    """Return where the description of a voice is."""
    return path.with_name(path.name + DESCRIPTION_ENDING)
