"""Small model files that hear and speak, and sounds: none of them is more than its header says."""

import io
import json
import os
import struct
import wave
from pathlib import Path
from typing import Any, Final

WORDS_OF_ENGLISH, WORDS_OF_ALL = 51_864, 51_865
WEIGHTS: Final = Path(os.environ.get("SOUND_MODELS", "/nowhere"))
"""The folder with real weights, which `make test-engines` fills."""
WHISPER_FILE, VOICE_FILE = "ggml-tiny.en.bin", "en_US-joe-medium.onnx"


def whisper_header(words: int = WORDS_OF_ENGLISH, layers: int = 4, kind: int = 1) -> bytes:
    """Return the beginning of a file of whisper.cpp: the sizes of a model."""
    return struct.pack("<4s11i", b"lmgg", words, 1500, 384, 6, layers, 448, 384, 6, 4, 80, kind)


def description(**more: Any) -> dict[str, Any]:
    """Return the description of a voice."""
    return {
        "audio": {"sample_rate": 22_050, "quality": "medium"},
        "espeak": {"voice": "en-us"},
        "phoneme_id_map": {"_": [0], "a": [14]},
        "language": {"name_english": "English"},
        "num_speakers": 1,
        **more,
    }


def put_voice(folder: Path, name: str = "joe", **more: Any) -> Path:
    """Write the two files of a voice, of which only the description is one."""
    path = folder / f"{name}.onnx"
    path.write_bytes(b"weights")
    path.with_name(f"{path.name}.json").write_text(json.dumps(description(**more)), "utf-8")
    return path


def wave_of(samples: bytes, rate: int = 16_000, channels: int = 1, width: int = 2) -> bytes:
    """Return a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((channels, width, rate, 0, "NONE", ""))
        sound.writeframes(samples)
    return file.getvalue()
