"""WAV files that are made while they are sent say their length once it is known."""

import io
import wave

import pytest

from ollm_tui.providers.media.wave_file import HEAD, mended, wave_head, with_length
from tests.support.sound_models import wave_of


def test_a_streamed_file_becomes_the_one_that_would_have_been_written_at_once() -> None:
    samples = bytes(range(200))
    whole = wave_of(samples, rate=22_050)
    assert wave_head(22_050, len(samples)) + samples == whole
    assert with_length(wave_head(22_050) + samples) == whole
    with wave.open(io.BytesIO(with_length(wave_head(22_050) + samples))) as file:
        assert file.getnframes() == 100


@pytest.mark.parametrize("stated", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_every_way_to_leave_the_length_open_is_known(stated: int) -> None:
    whole = bytearray(wave_of(bytes(20)))
    whole[40:44] = stated.to_bytes(4, "little")
    assert with_length(bytes(whole)) == wave_of(bytes(20))


@pytest.mark.parametrize(
    "data",
    [b"", b"ID3 and so on", b"RIFF", wave_of(bytes(20)), wave_of(bytes(20)) + b"LIST\4\0\0\0abcd"],
)
def test_other_files_stay_as_they_are(data: bytes) -> None:
    assert mended(data[:HEAD], len(data)) == {}
    assert with_length(data) == data
