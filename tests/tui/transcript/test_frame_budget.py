"""How often paintings may follow each other."""

from itertools import pairwise

import pytest

from ollm_tui.tui.transcript.painting import (
    BURST_S,
    FAST_SHARE,
    FRAME_S,
    SHARE,
    FrameBudget,
)


def intervals(cost: float, gap: float, count: int = 200) -> list[float]:
    """Paint text that comes every `gap` seconds, and return the times between two paintings."""
    budget, now, painted = FrameBudget(), 1000.0, list[float]()
    for _ in range(count):
        budget.note_change(now)
        at = now + budget.wait_s(now)
        while now + gap < at:  # more comes meanwhile
            now += gap
            budget.note_change(now)
        painted.append(at)
        budget.spend(at, at + cost)
        now = max(now + gap, at + cost)
    return [after - before for before, after in pairwise(painted)]


def test_the_first_words_after_a_rest_do_not_wait() -> None:
    cost = 0.001
    first = intervals(cost, gap=0.002)[: int(BURST_S / cost) - 1]
    assert first == pytest.approx([0.002] * len(first))


@pytest.mark.parametrize("cost", [0.0002, 0.0005, 0.001])
@pytest.mark.parametrize(("gap", "share"), [(0.002, FAST_SHARE), (0.017, SHARE)])
def test_paintings_together_take_no_more_than_their_share(
    cost: float, gap: float, share: float
) -> None:
    last = intervals(cost, gap)[-100:]
    assert cost * len(last) / sum(last) <= max(share * 1.01, cost / FRAME_S)


def test_words_at_an_ordinary_rate_do_not_wait_if_painting_is_cheap() -> None:
    assert intervals(0.0009, gap=0.02) == pytest.approx([0.02] * 199)


def test_the_most_costly_painting_delays_the_next_by_one_frame() -> None:
    assert max(intervals(0.5, gap=0.002)) == pytest.approx(0.5 + FRAME_S)
