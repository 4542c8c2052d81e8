from datetime import UTC, datetime

import pytest

from ollm_tui.tools.builtin.clock import clock_tool
from tests.support.tools import runner_for, tool_call

CLOCK = clock_tool(lambda: datetime(2026, 7, 1, 22, 30, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("UTC", "2026-07-01T22:30:05+00:00 (Wednesday, UTC)"),
        ("utc", "2026-07-01T22:30:05+00:00 (Wednesday, UTC)"),
        ("Europe/Vienna", "2026-07-02T00:30:05+02:00 (Thursday, CEST)"),
    ],
)
async def test_the_time_is_reported_in_the_zone_asked_for(zone: str, time: str) -> None:
    result = await runner_for(CLOCK).run(tool_call("current_time", {"timezone": zone}))
    assert (result.content, result.is_error) == (time, False)


async def test_without_a_zone_it_is_the_time_of_this_machine() -> None:
    result = await runner_for(CLOCK).run(tool_call("current_time"))
    time = datetime.fromisoformat(result.content.partition(" ")[0])
    assert time == datetime(2026, 7, 1, 22, 30, 5, tzinfo=UTC)
    assert time.utcoffset() == datetime(2026, 7, 1, 22, 30, 5, tzinfo=UTC).astimezone().utcoffset()


@pytest.mark.parametrize(
    "zone", ["Nowhere/City", "", "../../etc/passwd", "/etc/passwd", "a\0b", "Europe", "x" * 999]
)
async def test_an_unknown_zone_is_a_sentence(zone: str) -> None:
    result = await runner_for(CLOCK).run(tool_call("current_time", {"timezone": zone}))
    assert result.is_error
    assert result.content.startswith("There is no time zone")


async def test_the_real_clock_goes() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    result = await runner_for(clock_tool()).run(tool_call("current_time", {"timezone": "UTC"}))
    assert before <= datetime.fromisoformat(result.content.partition(" ")[0]) <= datetime.now(UTC)
