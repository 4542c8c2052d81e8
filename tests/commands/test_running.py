"""/continue and /cancel: what is typed and what it does."""

from dataclasses import dataclass

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall, parse, run_command, suggest
from tests.commands.recording_host import RecordingHost, RecordingLoop


@dataclass(frozen=True)
class Running:
    id: str
    words: str


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost(loop=RecordingLoop(can_go_on=True))


async def run(host: RecordingHost, text: str) -> str:
    call = parse(text, COMMANDS)
    assert isinstance(call, CommandCall)
    await run_command(call, host)
    return host.asked[-1][-1] if host.asked else ""


@pytest.mark.parametrize(
    ("typed", "did"),
    [
        ("/continue", ("go_on", None)),
        ("/continue 3", ("go_on", 3)),
        ("/continue 100", ("go_on", 100)),
        ("/continue WRAP", ("wrap_up", None)),
        ("/continue stop", ("give_up", None)),
    ],
)
async def test_what_follows_the_limit(
    host: RecordingHost, typed: str, did: tuple[str, int | None]
) -> None:
    assert await run(host, typed) == ""
    assert host.loop.did == [did]


@pytest.mark.parametrize(
    "typed", ["/continue 0", "/continue 101", "/continue soon", "/continue -1"]
)
async def test_anything_else_says_what_can_be_written(host: RecordingHost, typed: str) -> None:
    assert "/continue N for N turns" in await run(host, typed)
    assert host.loop.did == []


async def test_an_answer_that_is_complete_does_not_go_on() -> None:
    host = RecordingHost()
    assert "did not end at the limit" in await run(host, "/continue")
    assert host.loop.did == []


async def test_tools_are_cancelled_by_their_number() -> None:
    host = RecordingHost()
    assert await run(host, "/cancel") == "No tool is running."
    host.work.running = [Running("c1", "shell, sleep 9 · 4 s"), Running("c2", "look · 2 s")]
    listed = await run(host, "/cancel")
    assert listed.split("\n")[:2] == ["1  shell, sleep 9 · 4 s", "2  look · 2 s"]
    assert host.work.cancelled == []
    await run(host, "/cancel 3")
    assert host.work.cancelled == []
    await run(host, "/cancel 2")
    await run(host, "/cancel all")
    assert host.work.cancelled == ["c2", "c1", "c2"]
    suggestions = suggest("/cancel ", COMMANDS, host)
    assert suggestions is not None
    assert [one.value for one in suggestions.items] == ["1", "2"]
    host.work.running.pop()
    await run(host, "/cancel")
    assert host.work.cancelled[-1] == "c1"


@dataclass
class SomeJob:
    number: int
    command: str
    is_running: bool = True
    seconds: float = 64.0
    words: str = ""
    output: str = ""


async def test_commands_in_the_background_are_listed_shown_and_stopped() -> None:
    host = RecordingHost()
    assert await run(host, "/jobs") == "No command of this chat runs in the background."
    host.work.background = [
        SomeJob(1, "npm start", output="listening\n"),
        SomeJob(2, "make", is_running=False, words="Exit code 2."),
    ]
    assert (await run(host, "/jobs")).split("\n") == [
        "1  npm start · runs for 1 min 4 s",
        "2  make · Exit code 2",
        "/jobs N shows the output of one, /jobs stop N ends it.",
    ]
    assert await run(host, "/jobs 1") == "npm start · runs for 1 min 4 s\nlistening"
    assert (await run(host, "/jobs 2")).endswith("It printed nothing.")
    assert await run(host, "/jobs 3") == "There is no such command; /jobs lists them."
    assert await run(host, "/jobs stop 2") == "It has ended already."
    assert await run(host, "/jobs stop 1") == "Stopping it."
    assert await run(host, "/jobs stop all") == "Stopping 1 command."
    assert host.work.stopped == [2, 1, 1]
    suggestions = suggest("/jobs ", COMMANDS, host)
    assert suggestions is not None
    assert [one.value for one in suggestions.items] == ["1", "2", "stop 1"]
