"""Ten times the text is ten times the work, counted in calls and characters, not in seconds."""

import sys

import pytest

from tests.decode.hostile import HOSTILE, Decoder, hostile_text
from tests.support.cuts import one_by_one

pytestmark = pytest.mark.slow

SMALL, LARGE = 80, 800
MAX_FORM_LENGTH = 400


def work_of(decoder: Decoder, chunks: list[str]) -> int:
    """Count the calls of Python functions and of built-in ones."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        for chunk in chunks:
            decoder.feed(chunk)
        decoder.finish()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", HOSTILE)
def test_ten_times_the_text_is_at_most_twelve_times_the_work(kind: str) -> None:
    make, _ = HOSTILE[kind]
    small, large = hostile_text(kind, SMALL), hostile_text(kind, LARGE)
    work_of(make(), [small])  # what is compiled and made at the first use does not count
    assert work_of(make(), [large]) <= 12 * work_of(make(), [small])
    assert work_of(make(), one_by_one(large)) <= 12 * work_of(make(), one_by_one(small))


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_searched_again_with_the_next_chunk_is_bounded(kind: str) -> None:
    make, _ = HOSTILE[kind]
    decoder = make()
    for letter in hostile_text(kind, LARGE):
        decoder.feed(letter)
        assert len(getattr(decoder, "_scanner").held) <= MAX_FORM_LENGTH  # noqa: B009 -- each has its own
