"""/think, /tools, /chats and /context: what they change and what they say."""

from typing import Literal

import pytest

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall, parse, run_command, suggest
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.request import ShouldThink, ThinkingConfig
from tests.commands.recording_host import RecordingHost, SomeTool


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost()


async def run(host: RecordingHost, text: str) -> str:
    call = parse(text, COMMANDS)
    assert isinstance(call, CommandCall)
    await run_command(call, host)
    return host.asked[-1][-1]


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("off", False),
        ("on", True),
        ("LOW", ThinkingConfig(effort="low")),
        ("medium", ThinkingConfig(effort="medium")),
        ("high", ThinkingConfig(effort="high")),
        ("first", "first"),
        ("last", "last"),
        ("DEEP", "deep"),
    ],
)
async def test_think_sets_what_is_given_and_shows_it(
    host: RecordingHost, word: str, wanted: ShouldThink
) -> None:
    message = await run(host, f"/think {word}")
    assert host.current.should_think == wanted
    assert type(host.current.should_think) is type(wanted)
    mode = message.removeprefix("Thinking from the next answer: ")
    told = await run(host, "/think")
    assert told.startswith(f"Thinking: {mode} What this model takes is not known")


HYBRID = ThinkingSupport(modes=frozenset({"deep", "off"}), default="deep", efforts=())
ALWAYS = ThinkingSupport(modes=frozenset({"deep"}), default="deep", efforts=("low", "high"))


async def test_think_says_what_the_model_takes_and_why_it_does_not_take_the_rest(
    host: RecordingHost,
) -> None:
    for model, word, message, wanted in (
        (
            HYBRID,
            "",
            "Thinking: model default. This model takes off, on, deep; /think none goes back",
            None,
        ),
        (HYBRID, "low", "This model has no levels of thinking. Available: off, on, deep.", None),
        (HYBRID, "deep", "Thinking from the next answer: deep.", "deep"),
        (HYBRID, "last", "This model does not know the thinking mode 'last'. Avail", "deep"),
        (ALWAYS, "off", "This model always thinks: it cannot be switched off. It thi", "deep"),
        (ALWAYS, "", "Thinking: deep. This model always thinks, and takes on, deep, low", "deep"),
        (ThinkingSupport(), "on", "This model does not think. Leave thinking off", "deep"),
        (
            ThinkingSupport(),
            "",
            "Thinking: deep, which has no effect on this model. This model does not t",
            "deep",
        ),
        (ThinkingSupport(), "off", "Thinking from the next answer: off.", False),
        (
            ALWAYS,
            "",
            "Thinking: off, which has no effect on this model. This model always th",
            False,
        ),
    ):
        host.thinks = model
        told = await run(host, f"/think {word}".strip())
        assert told.startswith(message)
        assert host.asked[-1][0] == ("error" if "Avail" in told or "choose" in told else "info")
        assert host.current.should_think == wanted


async def test_think_none_leaves_it_to_the_model(host: RecordingHost) -> None:
    await run(host, "/think high")
    await run(host, "/think none")
    assert host.current.should_think is None
    assert "model default" in await run(host, "/think")


async def test_think_refuses_another_word_and_changes_nothing(host: RecordingHost) -> None:
    host.current.should_think = "deep"
    message = await run(host, "/think very\u202e")
    assert host.asked[-1][0] == "error"
    assert "very⟦U+202E⟧" in message
    assert "medium" in message
    assert host.current.should_think == "deep"


async def test_a_mode_of_another_kind_is_named(host: RecordingHost) -> None:
    host.current.should_think = ThinkingConfig(mode="deep", effort="low")
    assert (await run(host, "/think")).startswith("Thinking: deep. ")


async def test_tools_alone_lists_them_with_effect_and_state(host: RecordingHost) -> None:
    host.current.tools = ("clock",)
    _how, on, off = (await run(host, "/tools")).split("\n")
    assert on.split() == ["on", "clock", "read", "It", "does", "something"]
    assert off.split()[:3] == ["off", "shell", "run"]


@pytest.mark.parametrize(
    ("argument", "on"),
    [
        ("on", ("clock", "shell")),
        ("off", ()),
        ("shell", ("shell",)),
        ("shell, clock", ("clock", "shell")),
        ("ALL", ("clock", "shell")),
        ("None", ()),
        ("Shell", ("shell",)),
    ],
)
async def test_tools_are_chosen(host: RecordingHost, argument: str, on: tuple[str, ...]) -> None:
    host.current.tools = ("clock",)
    message = await run(host, f"/tools {argument}")
    assert host.current.tools == on
    assert all(name in message for name in on)
    assert host.asked[-1][0] == "info"


async def test_an_unknown_tool_changes_nothing(host: RecordingHost) -> None:
    host.current.tools = ("clock",)
    message = await run(host, "/tools clock nothing")
    assert (host.asked[-1][0], host.current.tools) == ("error", ("clock",))
    assert message == 'No tool "nothing". Available: clock, shell.'


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("clok", 'No tool "clok". Did you mean clock? Available: clock, shell.'),
        ("clock off", "Write /tools off alone, or only the names of tools."),
        ("on ALL", "Write /tools on alone, or only the names of tools."),
    ],
)
async def test_what_is_no_tool_is_reported_with_what_was_meant(
    host: RecordingHost, argument: str, message: str
) -> None:
    assert await run(host, f"/tools {argument}") == message
    assert (host.asked[-1][0], host.current.tools) == ("error", ())


async def test_a_listed_tool_takes_one_row(host: RecordingHost) -> None:
    long = "Finds the lines of files that hold a text as path and line. And more.\n\nAnd more."
    host.tools = (SomeTool("search_files", "read", long), SomeTool("now", "read", "Tells. More."))
    _how, first, second = (await run(host, "/tools")).split("\n")
    assert first.endswith("Finds the lines of files that hold a text…")
    assert len(first) < 74
    assert second.endswith("Tells")


async def test_no_tools_at_all_is_reported(host: RecordingHost) -> None:
    host.tools = ()
    assert await run(host, "/tools on") == "No tools are available."


async def test_foreign_names_are_spelled_out(host: RecordingHost) -> None:
    host.tools = (SomeTool("a\u200bb", "write", "one\x1btwo"),)
    message = await run(host, "/tools")
    assert "a⟦U+200B⟧b" in message
    assert "one␛two" in message


@pytest.mark.parametrize(
    ("text", "view"),
    [("/chats", "chats"), ("/resume", "chats"), ("/context", "context"), ("/tokens", "context")],
)
async def test_views_are_opened(host: RecordingHost, text: str, view: str) -> None:
    assert await run(host, text) == view


@pytest.mark.parametrize(
    ("draft", "first"), [("/think m", "medium"), ("/tools sh", "shell"), ("/tools clock sh", None)]
)
def test_arguments_are_completed(host: RecordingHost, draft: str, first: str | None) -> None:
    found = suggest(draft, COMMANDS, host)
    assert found is not None
    assert found.items[0].value == (first or "clock shell")


@pytest.mark.parametrize(
    ("mode", "message"),
    [("native", "calls tools natively"), ("react", "described to it in text"), (None, "")],
)
async def test_tools_says_how_the_model_gets_them(
    host: RecordingHost, mode: Literal["native", "react"] | None, message: str
) -> None:
    host.tools = (SomeTool("look", "read", "Look."),)
    host.mode = mode
    last = (await run(host, "/tools")).splitlines()[-1]
    assert message in last
    assert ("look" in last) == (mode is None)
