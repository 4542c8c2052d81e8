"""A WAV file in any pieces gives the same samples, and every wrong one a reason."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.sound.wav import NotRecorded, SampleFormat, WavReader, level_of, peak_of
from tests.support.sounds import tone

LIST = b"LIST" + struct.pack("<I", 4) + b"INFO"
STEREO = SampleFormat(44_100, 2)


def fed(data: bytes, cuts: list[int]) -> tuple[bytes, SampleFormat | None]:
    reader, samples, start = WavReader(), b"", 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        samples += reader.feed(data[start:cut])
        start = cut
    return samples, reader.format


@given(st.lists(st.integers(0, 10_000), max_size=8), st.sampled_from(["known", "endless", "raw"]))
def test_any_pieces_give_the_same_samples(cuts: list[int], kind: str) -> None:
    form = SampleFormat() if kind == "raw" else STEREO
    samples = tone(0.01, form=form)
    whole = form.wav(samples)
    head, size = whole[: -len(samples) - 8], struct.pack("<I", len(samples))
    data = {
        "raw": samples,
        "known": head + LIST + b"data" + size + samples + LIST,
        "endless": head + b"data\xff\xff\xff\xff" + samples,
    }[kind]
    assert fed(data, cuts) == (samples, form)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"OggS" + bytes(99), "another format"),
        (b"fLaC" + bytes(99), "another format"),
        (SampleFormat().wav(b"").replace(b"\x10\0data", b"\x18\0data"), "24-bit"),
        (SampleFormat().wav(b"").replace(b"fmt ", b"xxxx"), "without a format"),
        (b"RIFF....WAVE" + (b"junk" + struct.pack("<I", 4) + b"....") * 6000, "without samples"),
    ],
)
def test_other_files_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(NotRecorded, match=why):
        WavReader().feed(data)


def test_what_is_louder_has_a_higher_level() -> None:
    levels = [level_of(peak_of(tone(0.05, peak=peak))) for peak in (0, 200, 2000, 20_000)]
    assert levels == sorted(levels)
    assert (levels[0], level_of(32768)) == (0.0, 1.0)
    assert peak_of(struct.pack("<2h", -32768, 5)) == 32768
    assert peak_of(b"") == 0
