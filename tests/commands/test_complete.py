import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import (
    MAX_SUGGESTIONS,
    Suggestions,
    UnknownCommand,
    parse,
    suggest,
)
from ollm_tui.commands.registry import Completion
from ollm_tui.protocol.request import GenerationOptions
from tests.commands.recording_host import RecordingHost, SomeTool


def ask(text: str, host: RecordingHost | None = None) -> Suggestions | None:
    return suggest(text, COMMANDS, host or RecordingHost())


def values(text: str, host: RecordingHost | None = None) -> list[str]:
    found = ask(text, host)
    return [item.value for item in found.items] if found else []


def test_a_slash_offers_every_command_with_its_help() -> None:
    found = ask("/")
    assert found is not None
    assert [item.value for item in found.items] == [
        f"/{one.name}"
        for one in COMMANDS
        # nothing was made yet, nothing runs, and the settings name no server
        if one.name not in {"open", "mcp", "continue", "cancel", "jobs"}
    ]
    assert Completion("/help", "Show the keys and commands.") in found.items


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("/m", "/model"),
        ("/mdl", "/model"),
        ("/MO", "/model"),
        ("/cl", "/clear"),
        ("/by", "/bye"),
        ("/set", "/set"),
    ],
)
def test_a_name_is_found_by_its_letters(text: str, first: str) -> None:
    assert values(text)[0] == first


@pytest.mark.parametrize("text", ["", "help", "//he", "/zzz", "/zzz ", "/help ", "/he\nlp", "/a/b"])
def test_nothing_is_offered_where_nothing_is_known(text: str) -> None:
    assert ask(text) is None


def test_model_names_are_matched_inside_the_address() -> None:
    found = ask("/model gem")
    assert found is not None
    assert [item.value for item in found.items] == ["local://gemma3:4b"]
    assert ("/model gem"[: found.start], found.query, found.is_argument) == (
        "/model ",
        "gem",
        True,
    )


def test_models_keep_their_order_and_the_one_in_use_is_marked() -> None:
    found = ask("/model ")
    assert found is not None
    assert found.items[0] == Completion("local://qwen3:8b", "in use")
    assert len(found.items) == 3


def test_option_names_come_before_their_values() -> None:
    host = RecordingHost(current=Conversation(options=GenerationOptions(temperature=0.5)))
    assert values("/set temp") == ["temperature"]
    found = ask("/set temp", host)
    assert found is not None
    assert found.items[0].help == "now 0.5; a number from 0 to 10, usually up to 2"
    assert found.items[0].takes_more
    assert values("/set temperature ") == ["temperature 0.2", "temperature none"]
    assert values("/set temperature n") == ["temperature none"]
    assert "system" in values("/set s")


def test_themes_are_offered_by_name() -> None:
    assert values("/theme ") == ["dark", "light", "Terminal"]
    assert values("/theme term") == ["Terminal"]


def test_long_lists_are_cut() -> None:
    host = RecordingHost(models=tuple(f"local://m{number}" for number in range(1000)))
    assert len(values("/model m", host)) == MAX_SUGGESTIONS


def test_a_model_is_chosen_by_its_whole_name_though_others_begin_with_it() -> None:
    host = RecordingHost(models=("local://small-long", "local://small"))
    assert set(values("/model smal", host)) == {"local://small", "local://small-long"}
    # Enter sends what was typed
    assert suggest("/model small", COMMANDS, host) is None
    twice = RecordingHost(models=("local://small", "other://small"))
    assert values("/model small", twice) == ["local://small", "other://small"]


@pytest.mark.parametrize("name", ["delete", "import", "archive"])
def test_no_opposite_is_offered_for_what_is_done_elsewhere(name: str) -> None:
    assert suggest(f"/{name}", COMMANDS, RecordingHost()) is None
    call = parse(f"/{name}", COMMANDS)
    assert isinstance(call, UnknownCommand)
    assert "Ctrl+R" in call.sentence


@pytest.mark.parametrize(("typed", "offered"), [("all", "all"), ("ALL", "all"), ("non", "none")])
def test_enter_puts_no_tool_in_place_of_a_word_for_all_or_none(typed: str, offered: str) -> None:
    host = RecordingHost()
    host.tools = (SomeTool("calculate"),)  # its letters hold "all"
    assert values(f"/tools {typed}", host)[0] == offered
