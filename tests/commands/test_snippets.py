"""/snippet: what it asks of the front end."""

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from tests.commands.recording_host import RecordingHost


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("/snippet review  two words ", ("insert", "review", "two words")),
        ("/snippet add greet Hello {{name}}", ("add", "greet", "Hello {{name}}")),
        ("/snippet add greet", ("add", "greet", "")),
        ("/snippet edit greet", ("edit", "greet")),
        ("/snippet rm greet", ("remove", "greet")),
    ],
)
async def test_each_form_asks_for_one_thing(typed: str, asked: tuple[str, ...]) -> None:
    host = RecordingHost()
    call = parse(typed, COMMANDS)
    assert call is not None
    await run_command(call, host)
    assert host.asked == [asked]


async def test_names_are_listed_and_suggested() -> None:
    host = RecordingHost()
    for typed in ("/snippet", "/snippet list"):
        call = parse(typed, COMMANDS)
        assert call is not None
        await run_command(call, host)
    assert all("review: Review this change." in one[1] for one in host.asked)
    offered = suggest("/snippet gr", COMMANDS, host)
    assert offered is not None
    assert [one.value for one in offered.items] == ["greet"]
    removable = suggest("/snippet rm rev", COMMANDS, host)
    assert removable is not None
    assert [one.value for one in removable.items] == ["rm review"]
