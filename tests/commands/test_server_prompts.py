"""Prompts of servers as commands: their names, arguments on the line, and what is asked for."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall, UnknownCommand, parse, run_command, suggest
from ollm_tui.commands.server_prompts import CommandList, find_prompt, read_arguments
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.catalogue import Catalogue, PromptArgument, PromptDefinition
from ollm_tui.mcp.server import McpServer
from ollm_tui.protocol.errors import AIError
from tests.commands.recording_host import RecordingHost

GREET = PromptDefinition(
    "Greet people",
    "greet_people",
    "Greets.",
    (PromptArgument("who", "Whom.", is_required=True), PromptArgument("tone")),
)


class PromptServer(McpServer):
    def __init__(self) -> None:
        super().__init__("My Box", "My_Box", McpServerSettings(command="x"))
        self.catalogue = Catalogue((GREET, PromptDefinition("plain", "plain")))
        self.given: list[tuple[str, Mapping[str, str]]] = []

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[str]:
        self.given.append((name, arguments))
        return ["Hello."]


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost(mcp={"My Box": PromptServer()})


async def ran(host: RecordingHost, line: str) -> None:
    call = parse(line, CommandList(COMMANDS, host.servers))
    assert isinstance(call, CommandCall)
    await run_command(call, host)


def given_to(host: RecordingHost) -> list[tuple[str, Mapping[str, str]]]:
    return cast("PromptServer", host.mcp["My Box"]).given


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("/my_box:greet_people Ada", {"who": "Ada"}),
        ("/MY_BOX:greet_people who=Ada tone=warm", {"who": "Ada", "tone": "warm"}),
        ('/my_box:greet_people "Ada L." very warm', {"who": "Ada L.", "tone": "very warm"}),
        ("/my_box:greet_people tone=warm it's Ada", {"who": "it's Ada", "tone": "warm"}),
        ("/my_box:greet_people other=1", {"who": "other=1"}),
    ],
)
async def test_arguments_are_taken_from_the_line(
    host: RecordingHost, line: str, arguments: Mapping[str, str]
) -> None:
    await ran(host, line)
    assert given_to(host) == [("Greet people", arguments)]
    assert host.attached == ["Hello."]
    assert host.asked == []


async def test_what_is_missing_is_asked_for_and_cancelling_asks_no_server(
    host: RecordingHost,
) -> None:
    await ran(host, "/my_box:greet_people tone=warm")
    assert host.asked == [("ask", "my_box:greet_people needs 1 argument", "who")]
    assert given_to(host) == []
    host.entered = {"who": "Ada"}
    await ran(host, "/my_box:greet_people")
    assert given_to(host) == [("Greet people", {"who": "Ada"})]


async def test_too_many_are_a_sentence(host: RecordingHost) -> None:
    await ran(host, "/my_box:plain and more")
    assert host.asked == [("error", "The prompt takes no arguments.")]
    with pytest.raises(AIError, match="takes 2 arguments"):
        read_arguments(GREET, "who=a tone=b c")


def test_prompts_are_completed_with_their_arguments(host: RecordingHost) -> None:
    commands = CommandList(COMMANDS, host.servers)
    assert len(commands) == len(COMMANDS) + 2
    listed = suggest("/box:gr", commands, host) or suggest("/my_box:gr", commands, host)
    assert listed is not None
    assert [(one.value, one.help) for one in listed.items] == [("/my_box:greet_people", "Greets.")]
    names = suggest("/my_box:greet_people who=a ", commands, host)
    assert names is not None
    assert [one.value for one in names.items] == ["who=a tone="]


def test_without_its_server_the_command_is_unknown() -> None:
    assert isinstance(parse("/my_box:greet_people", COMMANDS), UnknownCommand)
    assert parse("/etc/hosts:1 is wrong", COMMANDS) is None
    assert find_prompt({}, "my_box:plain") is None


@given(st.text(max_size=60))
def test_any_line_is_read_or_refused(line: str) -> None:
    with suppress(AIError):
        assert set(read_arguments(GREET, line)) <= {"who", "tone"}
