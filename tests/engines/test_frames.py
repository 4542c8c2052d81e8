"""Frames between the app and an engine: any cut gives the same ones, and nothing else passes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.engines.frames import (
    MAX_DATA_BYTES,
    MAX_HEADER_BYTES,
    BadFrameError,
    Frame,
    FrameReader,
    write_frame,
)

FIELDS = st.dictionaries(
    st.text(max_size=8), st.none() | st.integers() | st.text(max_size=20), max_size=4
)
FRAMES = st.builds(
    Frame, st.integers(0, 2**31), st.text(max_size=9), FIELDS, st.binary(max_size=200)
)


@given(st.lists(FRAMES, max_size=6), st.data())
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    frames: list[Frame], data: st.DataObject
) -> None:
    sent = b"".join(map(write_frame, frames))
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=8).map(sorted))
    reader, came = FrameReader(), list[Frame]()
    for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        came += reader.feed(sent[start:end])
    assert came == frames


@given(st.binary(max_size=300))
def test_other_bytes_are_refused_or_waited_for(noise: bytes) -> None:
    try:
        frames = [*FrameReader().feed(noise)]
    except BadFrameError:
        return
    assert frames == []


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b'{"job": 1, "type": "done", "fields": {}}',
        b'{"job": "1", "type": "done", "size": 0, "fields": {}}',
        b'{"job": 1, "type": "done", "size": -1, "fields": {}}',
        b'{"job": 1, "type": "done", "size": %d, "fields": {}}' % (MAX_DATA_BYTES + 1),
        b"[" * 10_000,
        b"x" * MAX_HEADER_BYTES,
    ],
)
def test_a_header_that_no_engine_writes_is_refused(header: bytes) -> None:
    with pytest.raises(BadFrameError):
        list(FrameReader().feed(header + b"\n"))


def test_what_no_reader_takes_is_not_sent() -> None:
    fields: dict[str, Any] = {"text": "x" * MAX_HEADER_BYTES}
    with pytest.raises(BadFrameError, match="too large"):
        write_frame(Frame(1, "done", fields))
