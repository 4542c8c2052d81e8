"""Any text may stand in what a worker tells of a test, and all workers find the same tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.workers import sendable

ANY_TEXT = st.text(st.characters(exclude_categories=()))
REPORTS = st.recursive(
    st.none() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner) | st.tuples(inner, ANY_TEXT),
)


@given(REPORTS)
def test_every_report_can_be_encoded(report: object) -> None:
    str(sendable([report])).encode()


def test_halves_of_pairs_are_escaped_and_all_else_stays() -> None:
    data = {"a\ud800": ["\udfff b", ("ä 🌍", 1.5, None, True)]}
    assert sendable(data) == {"a\\ud800": ["\\udfff b", ("ä 🌍", 1.5, None, True)]}


@pytest.mark.slow
def test_workers_find_tests_that_come_from_a_set_in_one_order(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.parametrize('letter', set('abcdefghijklmnopqrstuvwxyz'))\n"
        "def test_it(letter): pass\n"
    )
    workers = ("-p", "tests.support.workers", "-p", "no:cacheprovider", "-n", "2")
    done = pytester.runpytest_subprocess(*workers)
    done.assert_outcomes(passed=26)
