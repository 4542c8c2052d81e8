"""Sound files as engines hear them: every width and rate, and what is no sound."""

import math
import struct
import sys
from array import array
from typing import Any

import pytest

from ollm_tui.engines.host import JobError
from ollm_tui.engines.sounds import RATE, resampled, samples_of
from tests.support.sound_models import wave_of

np = pytest.importorskip("numpy")
TONE_HZ = 440.0


def tone(rate: int, seconds: float = 0.5, hertz: float = TONE_HZ) -> list[float]:
    return [math.sin(2 * math.pi * hertz * n / rate) * 0.5 for n in range(int(rate * seconds))]


def written(values: list[float], width: int) -> bytes:
    if width == 1:
        return bytes(round(value * 127) + 128 for value in values)
    top = 2 ** (8 * width - 1) - 1
    return b"".join(round(value * top).to_bytes(width, "little", signed=True) for value in values)


def float_wave(values: list[float], kind: int = 3) -> bytes:
    form = struct.pack("<HHIIHH", kind, 1, RATE, RATE * 4, 4, 32)
    if kind == 0xFFFE:
        form += struct.pack("<HHIH14s", 22, 32, 4, 3, bytes(14))
    data = array("f", values).tobytes()
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += b"LIST" + struct.pack("<I", 3) + b"abc\0"
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


def loudest_hertz(samples: Any) -> float:
    loudest: int = np.argmax(np.abs(np.fft.rfft(samples)))
    return float(loudest) * RATE / len(samples)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_width_gives_the_same_sound(width: int) -> None:
    values = tone(RATE)
    heard = samples_of(wave_of(written(values, width), width=width))
    assert heard.dtype == np.float32
    assert np.max(np.abs(heard - np.array(values))) < 0.02


@pytest.mark.parametrize("kind", [3, 0xFFFE])
def test_floats_are_read_also_in_the_extensible_form(kind: int) -> None:
    values = tone(RATE)
    assert np.allclose(samples_of(float_wave(values, kind)), values, atol=1e-6)


def test_several_channels_are_mixed() -> None:
    left, right = tone(RATE), [0.0] * (RATE // 2)
    both = [value for pair in zip(left, right, strict=True) for value in pair]
    heard = samples_of(wave_of(written(both, 2), channels=2))
    assert np.max(np.abs(heard - np.array(left) / 2)) < 0.001


@pytest.mark.parametrize("rate", [8000, 11_025, 22_050, 44_100, 48_000])
def test_every_rate_keeps_length_and_pitch(rate: int) -> None:
    heard = samples_of(wave_of(written(tone(rate), 2), rate=rate))
    assert len(heard) == pytest.approx(RATE / 2, abs=2)
    assert loudest_hertz(heard) == pytest.approx(TONE_HZ, abs=4)


def test_what_the_lower_rate_cannot_hold_is_removed() -> None:
    high = np.array(tone(48_000, hertz=15_000), dtype=np.float32)
    assert np.max(np.abs(resampled(high, 48_000)[200:-200])) < 0.01


def test_a_file_of_unknown_length_is_read_to_its_end() -> None:
    whole = bytearray(wave_of(written(tone(RATE), 2)))
    whole[4:8] = whole[40:44] = b"\xff" * 4
    assert len(samples_of(bytes(whole))) == RATE // 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"RIFF\0\0\0\0WAVE", "The sound cannot be read: it lacks its format or its samples."),
        (wave_of(b""), "The sound cannot be read: it has no samples."),
        (
            b"RIFF\0\0\0\0WAVEfmt \x02\0\0\0\1\0data\0\0\0\0",
            "The sound cannot be read: its header is cut short.",
        ),
        (
            wave_of(bytes(8)).replace(b"\x10\0\0\0\1\0", b"\x10\0\0\0\7\0"),
            "WAV files of the format 7 with 16 bits cannot be read.",
        ),
        (
            wave_of(bytes(8)).replace(b"\1\0\1\0\x80\x3e", b"\1\0\0\0\x80\x3e"),
            "WAV files of the format 1 with 16 bits cannot be read.",
        ),
    ],
)
def test_a_broken_file_is_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(JobError) as caught:
        samples_of(data)
    assert (caught.value.message, caught.value.code) == (message, "BAD_REQUEST")


def test_another_format_names_the_package_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "miniaudio", None)
    with pytest.raises(JobError) as caught:
        samples_of(b"ID3" + bytes(100))
    assert (caught.value.message, caught.value.hint) == (
        "Only WAV files can be read without the package miniaudio.",
        "Convert it to WAV, or install a package in ollm's environment: pip install miniaudio",
    )
