"""Blank lines between the reasoning and the answer are dropped, however the text is cut."""

import time

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.chat.readers import AnswerStart
from ollm_tui.protocol.provider_events import TextDelta, ThinkingDelta


def shown(pieces: list[str]) -> str:
    start = AnswerStart()
    start.feed(ThinkingDelta("why"))
    events = [start.feed(TextDelta(piece)) for piece in pieces]
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


@given(st.lists(st.text(" \t\r\nab", max_size=4)))
def test_only_blank_lines_go_wherever_the_text_is_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    first = len(text) - len(text.lstrip())
    kept = text[text.rfind("\n", 0, first) + 1 :] if text.strip() else ""
    assert shown(pieces) == kept


def test_a_model_that_writes_nothing_but_spaces_costs_no_more_with_each() -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        assert shown([" "] * count + ["a"]) == " " * count + "a"
        return time.process_time() - began

    few = min(seconds(4_000) for _ in range(3))
    many = min(seconds(64_000) for _ in range(2))
    assert many < 64 * few, "16 times the spaces take about 16 times as long"
