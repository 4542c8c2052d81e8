"""Any text may stand in what one process tells another of a test."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.reports import sendable

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
