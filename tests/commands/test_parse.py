import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import (
    NOT_THERE,
    CommandCall,
    UnknownCommand,
    as_typed,
    parse,
    prompt_text,
    run_command,
    shell_line,
)
from tests.commands.recording_host import RecordingHost


def call(text: str) -> tuple[str, str]:
    parsed = parse(text, COMMANDS)
    assert isinstance(parsed, CommandCall)
    return parsed.command.name, parsed.argument


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/help", "help", ""),
        ("/?", "help", ""),
        ("/HELP", "help", ""),
        ("  /model  qwen3:8b  ", "model", "qwen3:8b"),
        ("/clear", "new", ""),
        ("/bye", "quit", ""),
        ("/exit", "quit", ""),
        ("/system You are brief.\nVery brief.", "system", "You are brief.\nVery brief."),
        ("/set\ttemperature 0.2", "set", "temperature 0.2"),
    ],
)
def test_a_command_is_distinguished_from_its_argument(text: str, name: str, argument: str) -> None:
    assert call(text) == (name, argument)


@pytest.mark.parametrize(
    "text", ["hello", "", "//help", "/etc/hosts is what?", "a /help", "1/2", "/a.b c"]
)
def test_a_path_an_escape_and_plain_text_are_prompts(text: str) -> None:
    assert parse(text, COMMANDS) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/modle x", "Unknown command: /modle. Did you mean /model?"),
        ("/mod", "Unknown command: /mod. Did you mean /model?"),
        ("/zzzz", "Unknown command: /zzzz. /help lists the commands."),
        ("/", "A command has a name: /help lists them."),
    ],
)
def test_an_unknown_command_names_the_nearest(text: str, sentence: str) -> None:
    parsed = parse(text, COMMANDS)
    assert isinstance(parsed, UnknownCommand)
    assert parsed.sentence == sentence


@pytest.mark.parametrize("name", NOT_THERE)
def test_a_command_that_people_expect_is_refused_with_what_to_do_instead(name: str) -> None:
    parsed = parse(f"/{name} x", COMMANDS)
    assert isinstance(parsed, UnknownCommand), "it is there now: take it off the list"
    assert parsed.sentence == f"Unknown command: /{name}. {NOT_THERE[name]}"
    for other in re.findall(r"(?<!\S)/(\w+)", NOT_THERE[name]):
        assert isinstance(parse(f"/{other}", COMMANDS), CommandCall)


async def test_an_unknown_command_is_reported_as_an_error() -> None:
    host = RecordingHost()
    parsed = parse("/modle", COMMANDS)
    assert parsed is not None
    await run_command(parsed, host)
    assert host.asked == [("error", "Unknown command: /modle. Did you mean /model?")]


async def test_what_a_command_cannot_do_is_reported_with_its_next_step() -> None:
    host = RecordingHost()
    parsed = parse("/model nowhere", COMMANDS)
    assert parsed is not None
    await run_command(parsed, host)
    assert host.asked == [("error", "No provider has nowhere. Pull it.")]


def test_a_doubled_slash_begins_a_prompt_with_one() -> None:
    assert prompt_text("//help") == "/help"
    assert prompt_text("/help") == "/help"
    assert prompt_text("hello") == "hello"


@given(st.text(max_size=60))
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    parsed = parse("/" + text, COMMANDS)
    if isinstance(parsed, UnknownCommand):
        assert "\x1b" not in parsed.sentence


@given(st.text() | st.sampled_from(["/help", "!ls", "//x", "!!x", "exit", "/", "! "]), st.text())
def test_what_is_typed_for_a_prompt_is_no_command(prompt: str, space: str) -> None:
    for text in (
        prompt,
        f" {prompt}",
        f"\n{prompt}",
        f"{space}/quit",
        f"{space}!ls",
        f" exit{space}",
    ):
        typed = as_typed(text)
        assert parse(typed, COMMANDS) is None
        assert shell_line(typed) is None


@given(
    st.text()
    | st.sampled_from(["/etc/hosts", "/help", "!ls", "//x", "!!", " exit ", "  /help", '"""x"""'])
    | st.text(' \n/!"exit#*', max_size=12)
)
def test_what_is_typed_for_a_prompt_sends_it_unchanged(prompt: str) -> None:
    assert prompt_text(as_typed(prompt)) == prompt
