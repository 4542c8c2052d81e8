"""Numbers with their units."""

import pytest

from ollm_tui.frontend.figures import (
    amount,
    count,
    finish_note,
    parameters,
    popularity,
    seconds,
    stats_line,
    time_left,
    tokens,
)
from ollm_tui.protocol.chat_events import NoAnswer
from ollm_tui.protocol.message import Timings, Usage


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "under 1 ms"),
        (0.003, "3 ms"),
        (0.0099, "0.01 s"),
        (0.31, "0.31 s"),
        (0.5, "0.5 s"),
        (0.999, "1 s"),
        (2.0, "2 s"),
        (3.2, "3.2 s"),
        (9.96, "10 s"),
        (12.4, "12 s"),
        (125, "2 min 5 s"),
    ],
)
def test_durations(value: float, words: str) -> None:
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("count", "words"), [(812, "812"), (3112, "3.1k"), (9960, "10k"), (32768, "33k")]
)
def test_token_counts(count: int, words: str) -> None:
    assert tokens(count) == words


def test_only_what_was_reported_is_written() -> None:
    assert stats_line(None, None) == ""
    assert stats_line(Usage(completion_tokens=3), Timings(tokens_per_s=4.25)) == (
        "3 tokens · 4.2 tok/s"
    )
    assert stats_line(Usage(completion_tokens=1), Timings(first_token_s=0.003)) == (
        "1 token · first token 3 ms"
    )
    assert stats_line(Usage(completion_tokens=1204), None) == "1,204 tokens"


@pytest.mark.parametrize(
    ("number", "words"),
    [(None, ""), (0, "0 likes"), (1, "1 like"), (1001, "1.0k likes")],
)
def test_likes(number: int | None, words: str) -> None:
    assert popularity(number, "like") == words


def test_an_ordinary_end_needs_no_note() -> None:
    nothing = NoAnswer(cause="empty")
    assert finish_note("stop") == ""
    assert finish_note("stop", nothing) == nothing.message
    assert finish_note("refusal", nothing) == finish_note("content_filter", nothing)
    assert "continue" in finish_note("pause")
    assert "full context" in finish_note("length")  # the same reason, and max_tokens is no help


@pytest.mark.parametrize(
    ("completed", "total", "written"),
    [
        (2_100_000_000, 5_030_000_000, "2.1 of 5.0 GB"),
        (640_000_000, 5_200_000_000, "640 MB of 5.2 GB"),
        (640_000_000, None, "640 MB"),
        (0, 98_000_000, "0 B of 98 MB"),
        (98_000_000, 98_000_000, "98 of 98 MB"),
    ],
)
def test_how_much_of_something_is_there(completed: int, total: int | None, written: str) -> None:
    assert amount(completed, total) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (76, "1 min 16 s"),
        (3000, "50 min"),
        (7500, "2 h 5 min"),
        (400_000, "4 days"),
    ],
)
def test_how_long_it_still_takes(value: float, written: str) -> None:
    assert time_left(value) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "0"), (812, "812"), (9_949, "9.9k"), (9_960, "10k"), (184_231, "184k"),
     (999_600, "1.0M"), (12_300_000, "12M"), (1_500_000_000, "1.5G")],
)  # fmt: skip
def test_how_often_something_was_fetched(number: int, written: str) -> None:
    assert count(number) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (251_000, "251k"),
        (135_000_000, "135M"),
        (999_600_000, "1.0B"),
        (8_200_000_000, "8.2B"),
        (70_600_000_000, "71B"),
    ],
)
def test_how_large_a_model_is(number: float, written: str) -> None:
    assert parameters(round(number)) == written
