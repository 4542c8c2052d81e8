"""Sound files as samples for engines that hear: 16,000 in a second, one channel.

WAV is read here. Other formats are left to the package miniaudio, if it is installed.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ollm_tui.engines.host import JobError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Samples = npt.NDArray[np.float32]

RATE: Final = 16_000
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
MAX_SECONDS: Final = 6 * 3600
TAPS: Final = 64
"""Half the length of the filter that removes what the lower rate cannot hold."""
INSTALL_MINIAUDIO: Final = (
    "Convert it to WAV, or install a package in ollm's environment: pip install miniaudio"
)


@dataclass(frozen=True, slots=True)
class _Format:
    kind: int
    channels: int
    rate: int
    width: int
    """Bytes of a sample."""


def samples_of(data: bytes) -> "Samples":
    """Return the samples of a sound file.

    Raises:
        JobError: it is broken, or of a format that cannot be read here.
    """
    if data[:4] in (b"RIFF", b"RIFX", b"RF64") and data[8:12] == b"WAVE":
        samples, rate = _wave(data)
        return resampled(samples, rate)
    return _by_miniaudio(data)


def _wave(data: bytes) -> "tuple[Samples, int]":
    chunks = dict(_chunks(data))
    if b"fmt " not in chunks or b"data" not in chunks:
        raise _broken("it lacks its format or its samples")
    form = _format(chunks[b"fmt "])
    frame = form.width * form.channels
    sound = chunks[b"data"]
    sound = sound[: len(sound) // frame * frame]
    values = _values(sound, form)
    if not values.size:
        raise _broken("it has no samples")
    if values.size / form.channels / form.rate > MAX_SECONDS:
        raise JobError("The sound is longer than six hours.", "Cut it.", code="BAD_REQUEST")
    return values.reshape(-1, form.channels).mean(axis=1, dtype="float32"), form.rate


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks of a file; one that is cut short, or of unknown length, is taken as it is.

    The samples come last in what is written while it is recorded.
    """
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        yield name, data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _format(chunk: bytes) -> _Format:
    if len(chunk) < 16:
        raise _broken("its header is cut short")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if kind == EXTENSIBLE and len(chunk) >= 26:
        (kind,) = struct.unpack_from("<H", chunk, 24)
    form = _Format(kind, channels, rate, bits // 8)
    widths = {PCM: (1, 2, 3, 4), FLOAT: (4, 8)}
    is_sane = 0 < channels <= 64 and 1000 <= rate <= 768_000 and bits % 8 == 0
    if not is_sane or form.width not in widths.get(kind, ()):
        raise JobError(
            f"WAV files of the format {kind} with {bits} bits cannot be read.",
            "Convert it to 16 bits PCM.",
            code="BAD_REQUEST",
        )
    return form


def _values(sound: bytes, form: _Format) -> "Samples":
    # The engine that hears needs it, too; nothing else does.
    import numpy as np

    if form.kind == FLOAT:
        values = np.frombuffer(sound, f"<f{form.width}").astype(np.float32)
        return np.clip(np.nan_to_num(values), -1, 1)
    if form.width == 1:
        return (np.frombuffer(sound, np.uint8).astype(np.float32) - 128) / np.float32(128)
    if form.width == 3:
        wide = np.zeros((len(sound) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(sound, np.uint8).reshape(-1, 3)
        return wide.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)
    bits = form.width * 8 - 1
    return np.frombuffer(sound, f"<i{form.width}").astype(np.float32) / np.float32(2**bits)


def resampled(samples: "Samples", rate: int) -> "Samples":
    """Return samples at the rate that engines hear."""
    # As in `_values`.
    import numpy as np

    if rate == RATE:
        return samples
    if rate > RATE:
        steps = np.arange(-TAPS, TAPS + 1) * (RATE / rate)
        kernel = np.sinc(steps) * np.hanning(2 * TAPS + 3)[1:-1]
        samples = np.convolve(samples, (kernel / kernel.sum()).astype(np.float32), mode="same")
    count = max(1, int(len(samples) * RATE / rate))
    places = np.arange(count, dtype=np.float64) * (rate / RATE)
    return np.interp(places, np.arange(len(samples)), samples).astype(np.float32)


def _by_miniaudio(data: bytes) -> "Samples":
    # As in `_values`; miniaudio is of another extra.
    import numpy as np

    try:
        import miniaudio
    except ModuleNotFoundError:
        raise JobError(
            "Only WAV files can be read without the package miniaudio.",
            INSTALL_MINIAUDIO,
            code="UNSUPPORTED_FEATURE",
        ) from None
    try:
        made = miniaudio.decode(data, miniaudio.SampleFormat.FLOAT32, 1, RATE)
    except miniaudio.DecodeError as error:
        raise _broken("it is no WAV, MP3, FLAC or OGG file") from error
    return np.asarray(made.samples, dtype=np.float32)


def _broken(reason: str) -> JobError:
    return JobError(f"The sound cannot be read: {reason}.", "Check the file.", code="BAD_REQUEST")
