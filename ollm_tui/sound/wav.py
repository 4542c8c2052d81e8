"""WAV files while they arrive: the header first, then 16-bit samples, and how loud these are."""

import math
import struct
import sys
from array import array
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.sound.device_child import SAMPLE_RATE, wav_header

MAX_HEADER_BYTES: Final = 64 * 1024
_ENDLESS: Final = 0x7FFF0000
"""A size from here on is written by programs that do not know it yet."""
_PCM: Final = (1, 0xFFFE)
_QUIETEST_DB: Final = -50.0
_FULL: Final = 32768
_CONTAINERS: Final = (b"OggS", b"fLaC", b"ID3", b".snd", b"\x1aE\xdf\xa3", b"FORM")


@dataclass(frozen=True, slots=True)
class SampleFormat:
    """How 16-bit samples are to be read."""

    rate: int = SAMPLE_RATE
    channels: int = 1

    @property
    def bytes_per_s(self) -> int:
        """The number of bytes for a second."""
        return self.rate * self.channels * 2

    def wav(self, samples: bytes) -> bytes:
        """Return samples as a WAV file."""
        return wav_header(self.rate, self.channels, len(samples)) + samples


class NotRecorded(ValueError):
    """What a program prints is no WAV file with 16-bit samples; says what it is."""


@dataclass(slots=True)
class WavReader:
    """Takes a WAV file in pieces and gives its samples; bytes without a header are samples."""

    format: SampleFormat | None = None
    """None before the header was read."""
    _held: bytes = b""
    _rest: int | None = field(default=None)
    """How many bytes of samples are still to come, if the header says so."""

    def feed(self, data: bytes) -> bytes:
        """Return the samples in a further piece; whole ones only.

        Raises:
            NotRecorded: the header is of another kind of file, or of other samples.
        """
        self._held += data
        if self.format is None and not self._read_header():
            return b""
        assert self.format is not None
        width = self.format.channels * 2
        count = len(self._held) - len(self._held) % width
        if self._rest is not None:
            count = min(count, self._rest)
            self._rest -= count
        samples, self._held = self._held[:count], self._held[count:]
        if self._rest == 0:
            self._held = b""  # what follows the samples describes them
        return samples

    def _read_header(self) -> bool:
        held = self._held
        if held.startswith(_CONTAINERS):
            raise NotRecorded("another format than WAV")
        if len(held) < 4 and b"RIFF".startswith(held):
            return False
        if held[:4] != b"RIFF":
            self.format = SampleFormat()
            return True
        start, form = 12, None
        while len(held) >= start + 8:
            name, size = held[start : start + 4], struct.unpack_from("<I", held, start + 4)[0]
            if name == b"data":
                self.format = _format(form)
                self._rest = size if 0 < size < _ENDLESS else None
                self._held = held[start + 8 :]
                return True
            if name == b"fmt ":
                form = held[start + 8 : start + 8 + size]
            start += 8 + size + size % 2
        if len(held) > MAX_HEADER_BYTES:
            raise NotRecorded("a WAV file without samples")
        return False


def _format(form: bytes | None) -> SampleFormat:
    if form is None or len(form) < 16:
        raise NotRecorded("a WAV file without a format")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", form)
    if kind not in _PCM or bits != 16 or not 1 <= channels <= 8 or not 1000 <= rate <= 384_000:
        raise NotRecorded(f"a WAV file with {bits}-bit samples")
    return SampleFormat(rate, channels)


def peak_of(samples: bytes) -> int:
    """Return the largest deviation of 16-bit samples, from 0 to 32768."""
    values = array("h", samples[: len(samples) - len(samples) % 2])
    if sys.byteorder == "big":
        values.byteswap()
    return max(max(values), -min(values)) if values else 0


def level_of(peak: int) -> float:
    """Return how loud a peak is, from 0 to 1, as ears judge it."""
    if peak <= 0:
        return 0.0
    return min(1.0, max(0.0, 1 - 20 * math.log10(peak / _FULL) / _QUIETEST_DB))
