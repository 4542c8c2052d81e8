"""Windows and verdicts."""

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.tokens.count import CountSource, TokenCount
from ollm_tui.tokens.limits import (
    ASSUMED_WINDOW,
    Window,
    WindowSource,
    check,
    choose_window,
    exceeded,
)

KNOWN: tuple[WindowSource, ...] = ("settings", "request", "engine")
WINDOWS = st.builds(Window, st.integers(1, 2_000_000), st.sampled_from(KNOWN))
SOURCES: tuple[CountSource, ...] = ("engine", "tokenizer", "estimate")


def tokens(number: int, source: CountSource = "engine") -> TokenCount:
    return TokenCount(tokens=number, source=source, model="m", uncorrected=number)


# Feature: stage-02-core-provider, Property 25: Token Limit Warning
@settings(max_examples=300)
@given(WINDOWS, st.data(), st.sampled_from(SOURCES))
def test_from_nine_tenths_to_the_whole_window_it_warns(
    window: Window, data: st.DataObject, source: CountSource
) -> None:
    least = -(-9 * window.tokens // 10)
    used = data.draw(st.integers(least, window.tokens))
    verdict = check(tokens(used, source), window)
    assert (verdict.kind, verdict.used, verdict.limit) == ("warning", used, window.tokens)
    assert verdict.estimated == (source != "engine")
    assert least <= 1 or check(tokens(least - 1), window).kind == "ok"


# Feature: stage-02-core-provider, Property 26: Token Limit Enforcement
@settings(max_examples=300)
@given(WINDOWS, st.integers(1, 2_000_000), st.sampled_from(SOURCES))
def test_above_a_known_window_it_blocks_with_the_numbers(
    window: Window, excess: int, source: CountSource
) -> None:
    used = window.tokens + excess
    verdict = check(tokens(used, source), window)
    assert verdict.kind == "blocked"
    error = exceeded(verdict)
    assert error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert error.details == {"prompt_tokens": used, "context_tokens": window.tokens}
    assert ("about" in error.message) == (source != "engine")
    assert f"{used:,}" in error.message
    assert f"{window.tokens:,}" in error.message
    assert error.hint


@settings(max_examples=200)
@given(st.integers(1, 10**9))
def test_an_assumed_window_warns_and_never_blocks(used: int) -> None:
    verdict = check(tokens(used), choose_window())
    expected: Literal["ok", "warning"] = "warning" if used >= 3687 else "ok"
    assert (verdict.kind, verdict.limit, verdict.assumed) == (expected, ASSUMED_WINDOW, True)


def test_the_threshold_can_be_moved() -> None:
    window = Window(1000, "engine")
    assert check(tokens(499), window, warn_at=0.5).kind == "ok"
    assert check(tokens(500), window, warn_at=0.5).kind == "warning"
    assert check(tokens(999), window, warn_at=1.0).kind == "ok"


def test_settings_win_over_the_request_and_the_request_over_the_engine() -> None:
    assert choose_window(settings=1, num_ctx=2, engine=3) == Window(1, "settings")
    assert choose_window(num_ctx=2, engine=3) == Window(2, "request")
    assert choose_window(engine=3, family=4) == Window(3, "engine")
    assert choose_window(family=4) == Window(4, "family")
    assert choose_window(settings=0, num_ctx=-1, engine=0) == Window(4096, "assumed")
    assert not choose_window(engine=3).assumed
    assert choose_window(family=4).assumed


def test_a_hint_of_the_ways_out_takes_the_usual_ones_place() -> None:
    verdict = check(tokens(11), Window(10, "engine"))
    assert exceeded(verdict, "Leave out 3 turns.").hint == "Leave out 3 turns."
    assert exceeded(verdict).message == "The conversation has 11 tokens; the model holds 10."
