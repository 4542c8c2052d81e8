"""The speed of an answer, measured where the server does not tell it."""

import pytest

from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.provider_events import (
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.stream import Pace


def pace(*pieces: tuple[float, ProviderEvent]) -> Pace:
    made = Pace()
    for at, event in pieces:
        made.note([event], at)
    return made


def evenly(count: int, every_s: float) -> list[tuple[float, ProviderEvent]]:
    return [(100 + number * every_s, TextDelta("word")) for number in range(count)]


def test_a_stream_has_the_speed_of_what_followed_its_first_piece() -> None:
    assert pace(*evenly(11, 0.1)).speed(Usage(completion_tokens=11)) == pytest.approx(10)


def test_a_late_end_mark_does_not_slow_it() -> None:
    made = pace(*evenly(11, 0.1), (160.0, Finish("stop")))
    assert made.speed(Usage(completion_tokens=11)) == pytest.approx(10)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [(100.0, TextDelta("all of it" * 100))],
        [(100.0, TextDelta("all of it" * 100)), (103.0, TextDelta("."))],
        evenly(400, 0.0001),
        evenly(3, 0.5),
        [(100.0, ToolCallEvent(ToolCall(id="c", name="n", args={}, raw_args="{}")))],
    ],
)
def test_what_came_at_once_has_none(pieces: list[tuple[float, ProviderEvent]]) -> None:
    assert pace(*pieces).speed(Usage(completion_tokens=4000)) is None


def test_most_of_it_at_once_and_a_trickle_is_the_speed_of_the_trickle() -> None:
    made = pace(
        (100.0, TextDelta("x" * 960)), *((101.0 + n, TextDelta("x" * 10)) for n in range(4))
    )
    assert made.speed(Usage(completion_tokens=1000)) == pytest.approx(10)


def test_reasoning_that_the_server_keeps_is_not_counted() -> None:
    usage = Usage(
        completion_tokens=2011, extra={"completion_tokens_details": {"reasoning_tokens": 2000}}
    )
    assert pace(*evenly(11, 0.1)).speed(usage) == pytest.approx(10)
    thought: list[tuple[float, ProviderEvent]] = [
        (at, ThinkingDelta("word")) for at, _event in evenly(2011, 0.1)
    ]
    assert pace(*thought).speed(usage) == pytest.approx(10)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(completion_tokens=0)])
def test_without_a_count_there_is_none(usage: Usage | None) -> None:
    assert pace(*evenly(11, 0.1)).speed(usage) is None
