"""Styles laid over finished strips change looks, never the text."""

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from ollm_tui.tui.transcript.rendering import restyled

BASE, FOUND = Style(bold=True), Style(underline=True)
SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8)


@given(st.lists(st.text(max_size=9), max_size=6), SPANS)
def test_spans_are_styled_and_nothing_else(texts: list[str], drawn: list[tuple[int, int]]) -> None:
    spans = sorted((start, start + length, FOUND) for start, length in drawn)
    segments = restyled([Segment(text, BASE) for text in texts], spans)
    assert "".join(segment.text for segment in segments) == "".join(texts)
    looks = [segment.style for segment in segments for _character in segment.text]
    for place, look in enumerate(looks):
        is_found = any(start <= place < end for start, end, _style in spans)
        assert look == (BASE + FOUND if is_found else BASE)
