"""A dialog that opens under somebody's typing takes none of it for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.frontend.consent import ARMED_AFTER_S, Arming

GAPS = st.lists(st.floats(0, 0.39), max_size=60)


def test_nothing_counts_before_it_is_seen() -> None:
    arming = Arming()
    arming.typed(1.0)
    assert not arming.is_armed(1_000_000.0)
    assert arming.waits_for(2.0) == ARMED_AFTER_S


def test_it_counts_after_a_while_on_the_screen() -> None:
    arming = Arming()
    arming.shown(10.0)
    assert not arming.is_armed(10.399)
    assert arming.is_armed(10.4)
    arming.shown(20.0)
    assert arming.is_armed(10.4)


@given(GAPS)
def test_no_stream_of_keys_without_a_pause_arms_it(gaps: list[float]) -> None:
    arming, now = Arming(), 5.0
    arming.shown(now)
    for gap in gaps:
        now += gap
        assert not arming.is_armed(now)
        arming.typed(now)
    assert arming.waits_for(now) == pytest.approx(ARMED_AFTER_S)
    assert arming.is_armed(now + ARMED_AFTER_S)


@given(GAPS, st.floats(0.4, 5))
def test_a_late_key_never_shortens_the_wait(gaps: list[float], pause: float) -> None:
    arming = Arming()
    arming.shown(5.0)
    arming.typed(7.0)
    for gap in gaps:
        arming.typed(7.0 - gap)
    assert not arming.is_armed(7.399)
    assert arming.is_armed(7.0 + pause)
