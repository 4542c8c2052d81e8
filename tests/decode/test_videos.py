"""What the header of a video says, and that no bytes break its reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.videos import VideoHeader, read_video_header
from tests.support.picture_bytes import png
from tests.support.video_bytes import avi, mp4, webm

VIDEOS = (mp4(3.5, 320, 240), webm(3.5, 320, 240), avi(3.5, 320, 240))


@pytest.mark.parametrize(("kind", "data"), [*zip(("mp4", "webm", "avi"), VIDEOS, strict=True)])
def test_kind_length_and_size_are_read(kind: str, data: bytes) -> None:
    assert read_video_header(data) == VideoHeader(kind, 3.5, 320, 240)


def test_other_kinds_are_named_and_what_is_no_video_is_none() -> None:
    assert read_video_header(mp4(1, brand=b"qt  ")) == VideoHeader("mov", 1.0, 64, 48)
    assert read_video_header(b"GIF89a") == VideoHeader("gif")
    assert read_video_header(b"RIFF\0\0\0\0WEBPVP8X") == VideoHeader("webp")
    for data in (b"", b"x", png(), b"RIFF\0\0\0\0WAVE", b"<html>"):
        assert read_video_header(data) is None


@given(which=st.sampled_from(VIDEOS), at=st.integers(0, 200), new=st.binary(max_size=12))
def test_a_damaged_video_is_still_one_or_none(which: bytes, at: int, new: bytes) -> None:
    header = read_video_header(which[:at] + new + which[at + len(new) :])
    assert header is None or header.duration_s is None or header.duration_s > 0
    read_video_header(which[:at])
