"""Sounds, and commands that stand in for sound devices."""

import math
import struct
from array import array
from pathlib import Path

from ollm_tui.sound.wav import SampleFormat


def tone(seconds: float = 0.5, *, form: SampleFormat = SampleFormat(), peak: int = 12_000) -> bytes:  # noqa: B008 -- it is frozen
    """Return the samples of a tone."""
    count, step = int(seconds * form.rate), 2 * math.pi * 440 / form.rate
    values = (int(peak * math.sin(step * index)) for index in range(count))
    samples = array("h", (value for value in values for _ in range(form.channels)))
    return struct.pack(f"<{len(samples)}h", *samples)


def wav(seconds: float = 0.5, *, peak: int = 12_000) -> bytes:
    """Return a WAV file with a tone."""
    return SampleFormat().wav(tone(seconds, peak=peak))


def file_device(path: Path, *, goes_on: bool = False) -> list[str]:
    """Return a command that records what a file holds; with `goes_on` until it is ended."""
    return ["sh", "-c", 'cat "$1"; [ -z "$2" ] || exec sleep 60', "-", str(path), "1" * goes_on]


def file_output(folder: Path) -> list[str]:
    """Return a command that plays sounds into new files of a folder, which it makes."""
    folder.mkdir(exist_ok=True)
    return ["sh", "-c", 'exec cat > "$(mktemp "$1/$(ls "$1" | wc -l)-XXXXXX")"', "-", str(folder)]


def played(folder: Path) -> list[bytes]:
    """Return what was played, in order."""
    numbered = sorted((int(path.name.partition("-")[0]), path) for path in folder.iterdir())
    return [path.read_bytes() for _, path in numbered]
