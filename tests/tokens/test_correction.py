"""Estimates that come nearer to what servers report."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.tokens.count import MAX_RATIO, MIN_RATIO, Correction

REPORTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=20)


@settings(max_examples=200)
@given(REPORTS, st.integers(1, 10**6))
def test_the_ratio_stays_in_its_bounds_whatever_is_reported(
    reports: list[tuple[int, int]], estimate: int
) -> None:
    correction = Correction()
    for estimated, reported in reports:
        correction.learn(estimated, reported)
    assert MIN_RATIO <= correction.ratio <= MAX_RATIO
    assert (
        max(1, int(MIN_RATIO * estimate)) <= correction.apply(estimate) <= MAX_RATIO * estimate + 1
    )


@given(st.integers(1000, 10**5), st.floats(0.3, 7.9))
def test_repeated_reports_bring_the_estimate_near_the_truth(estimated: int, factor: float) -> None:
    correction, true = Correction(), round(estimated * factor)
    off = abs(true - estimated)
    for _ in range(8):
        correction.learn(estimated, true)
        now = abs(correction.apply(estimated) - true)
        assert now <= off + 1
        off = now
    assert abs(correction.apply(estimated) - true) <= max(1, 0.14 * abs(true - estimated) + 1)


def test_nothing_learned_changes_nothing() -> None:
    assert Correction().apply(123) == 123


def test_a_short_requests_template_does_not_spoil_a_long_ones_estimate() -> None:
    correction = Correction()
    for _ in range(50):
        correction.learn(5, 35)
    assert 1.1 < correction.ratio < 1.3


def test_a_report_that_leaves_out_what_was_cached_is_ignored() -> None:
    correction = Correction()
    correction.learn(8000, 26)
    assert correction.apply(8000) == 8000
    correction.learn(8000, 2000)
    assert correction.apply(8000) < 4000


def test_newer_answers_weigh_more() -> None:
    correction = Correction()
    correction.learn(1000, 4000)
    correction.learn(1000, 1000)
    assert 1.0 < correction.ratio < 2.0


def test_one_wild_report_is_bounded() -> None:
    correction = Correction()
    correction.learn(10, 10**9)
    assert correction.apply(1000) < 1300
