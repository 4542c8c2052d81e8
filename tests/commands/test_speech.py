"""`/dictate` and `/speak` ask the front end for what they say."""

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from ollm_tui.protocol.message import Message
from tests.commands.recording_host import RecordingHost


async def run(host: RecordingHost, line: str) -> tuple[str, ...]:
    call = parse(line, COMMANDS)
    assert call is not None
    await run_command(call, host)
    return host.asked[-1]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("/dictate", ("dictate", "")),
        ("/listen", ("dictate", "")),
        ("/dictate a memo.wav", ("dictate", "a memo.wav")),
        ("/speak", ("read", "The answer.")),
        ("/speak ON", ("read_answers", "True")),
        ("/speak stop", ("stop_reading",)),
    ],
)
async def test_each_form_is_passed_on(line: str, asked: tuple[str, ...]) -> None:
    host = RecordingHost()
    host.current.messages += [Message("user", "Why?"), Message("assistant", "The answer.")]
    assert await run(host, line) == asked


async def test_what_cannot_be_done_is_a_sentence() -> None:
    host = RecordingHost()
    assert await run(host, "/speak") == ("info", "There is no answer to read aloud.")
    kind, words = await run(host, "/speak louder")
    assert kind == "error"
    assert "/speak on every answer" in words
    await run(host, "/speak off")
    assert host.asked[-2:] == [
        ("read_answers", "False"),
        ("info", "Answers are not read aloud."),
    ]


def test_the_switches_are_suggested() -> None:
    suggestions = suggest("/speak o", COMMANDS, RecordingHost())
    assert suggestions is not None
    assert [one.value for one in suggestions.items][:2] == ["on", "off"]
