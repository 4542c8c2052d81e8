"""Numbers with their units."""

import pytest

from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.tui.figures import finish_note, seconds, size, stats_line, tokens


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.31, "0.31 s"), (3.2, "3.2 s"), (9.96, "10 s"), (12.4, "12 s"), (125, "2 min 5 s")],
)
def test_durations(value: float, words: str) -> None:
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("count", "words"), [(812, "812"), (3112, "3.1k"), (9960, "10k"), (32768, "33k")]
)
def test_token_counts(count: int, words: str) -> None:
    assert tokens(count) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(812, "812 B"), (94_000, "94 kB"), (94_000_000, "94 MB"), (4_700_000_000, "4.7 GB")],
)
def test_sizes(count: int, words: str) -> None:
    assert size(count) == words


def test_only_what_was_reported_is_written() -> None:
    assert stats_line(None, None) == ""
    assert stats_line(Usage(completion_tokens=3), Timings(tokens_per_s=4.25)) == (
        "3 tokens · 4.2 tok/s"
    )


def test_an_ordinary_end_needs_no_note() -> None:
    assert finish_note("stop", empty=False) == ""
    assert finish_note("stop", empty=True)
    assert finish_note("refusal", empty=True) == finish_note("content_filter", empty=True)
    assert "go on" in finish_note("pause", empty=False)
