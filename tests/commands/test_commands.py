"""What each command asks of its host."""

import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from ollm_tui.protocol.message import Message
from tests.commands.recording_host import RecordingHost

ANSWER = """Here:

```python
print(1)
```

and

~~~~
a ~~~ b
~~~
~~~~
"""


def answered(text: str) -> RecordingHost:
    return RecordingHost(current=Conversation(messages=[Message("assistant", text)]))


def offered(draft: str, host: RecordingHost) -> list[str]:
    found = suggest(draft, COMMANDS, host)
    return [item.value for item in found.items] if found else []


async def run(text: str, host: RecordingHost | None = None) -> RecordingHost:
    host = host or RecordingHost()
    parsed = parse(text, COMMANDS)
    assert parsed is not None
    await run_command(parsed, host)
    return host


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("/help", ("show", "help")),
        ("/new", ("new_chat",)),
        ("/clear", ("new_chat",)),
        ("/model", ("show", "models")),
        ("/models", ("show", "manager")),
        ("/model qwen3:8b", ("set_model", "qwen3:8b")),
        ("/retry", ("retry",)),
        ("/find", ("find", "")),
        ("/find  Sky blue", ("find", "Sky blue")),
        ("/search x", ("show", "search", "x")),
        ("/sessions", ("show", "chats")),
        ("/private", ("show", "private")),
        ("/private OFF", ("show", "private", "off")),
        (
            "/private chat",
            ("error", "/private starts a private chat, and /private off one that is saved."),
        ),
        ("/theme", ("show", "themes")),
        ("/theme LIGHT", ("set_theme", "light")),
        ("/theme terminal", ("set_theme", "Terminal")),
        ("/theme pink", ("error", 'No theme "pink". Available: dark, light, Terminal.')),
        ("/quit", ("quit",)),
        ("/bye", ("quit",)),
        ("/copy", ("info", "There is no answer to copy.")),
    ],
)
async def test_a_command_asks_its_host_for_one_thing(text: str, asked: tuple[str, ...]) -> None:
    assert (await run(text)).asked == [asked]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("/copy", ("copy", ANSWER)),
        ("/copy 1", ("copy", "print(1)")),
        ("/copy 2", ("copy", "a ~~~ b\n~~~")),
        ("/copy 3", ("error", "The last answer has 2 code blocks: /copy 1 to /copy 2.")),
        (
            "/copy x",
            ("error", "/copy takes a number for a code block, or `chat` for the whole chat."),
        ),
        ("/copy 0", ("error", "The last answer has 2 code blocks: /copy 1 to /copy 2.")),
    ],
)
async def test_copy_takes_the_answer_or_one_of_its_code_blocks(
    text: str, asked: tuple[str, ...]
) -> None:
    assert (await run(text, answered(ANSWER))).asked == [asked]


async def test_copying_a_code_block_of_an_answer_without_one_says_so() -> None:
    host = await run("/copy 1", answered("No code."))
    assert host.asked == [
        ("error", "The last answer has no code block. /copy alone copies all of it.")
    ]


async def test_an_unclosed_code_block_reaches_to_the_end() -> None:
    host = await run("/copy 1", answered("```\nhalf"))
    assert host.asked == [("copy", "half")]


async def test_the_system_prompt_is_shown_changed_and_cleared() -> None:
    host = await run("/system")
    assert host.asked.pop() == ("info", "There is no system prompt. /system TEXT sets one.")
    await run('/system """Be brief.\nAlways."""', host)
    assert host.prompt == "Be brief.\nAlways."
    await run("/system", host)
    assert host.asked.pop() == ("info", "System prompt: Be brief.\nAlways.")
    await run("/system none", host)
    assert host.prompt is None


async def test_control_characters_of_a_system_prompt_are_shown_not_sent() -> None:
    host = await run("/system", RecordingHost(current=Conversation(system_prompt="a\x1b[2Jb")))
    assert host.asked == [("info", "System prompt: a␛[2Jb")]


async def test_set_without_an_argument_lists_every_option_and_its_value() -> None:
    host = RecordingHost(current=Conversation(system_prompt="one\ntwo"))
    await run("/set temperature 0.25", host)
    await run("/set", host)
    listing = host.asked[-1][1].splitlines()
    assert listing[0] == "/set OPTION VALUE changes one, /set OPTION none clears it."
    assert "temperature      0.25" in listing
    assert "seed             the model's default" in listing
    assert listing[-1] == "system           one two"


async def test_set_with_a_name_alone_tells_what_it_takes() -> None:
    host = await run("/set top_p")
    assert host.asked == [("info", "top_p is the model's default. It takes a number from 0 to 1.")]


async def test_a_window_is_offered_only_where_the_server_takes_it() -> None:
    host = await run("/set num_ctx 8192", RecordingHost(has_window=False))
    assert host.sampling.num_ctx is None
    ((kind, sentence),) = host.asked
    assert kind == "error"
    assert sentence.startswith("This model's server takes no num_ctx")
    assert "num_ctx" not in offered("/set ", host)
    assert "top_k" in offered("/set ", host)
    await run("/set num_ctx none", host)
    assert host.asked[-1] == ("info", "num_ctx is reset to the model's default.")
    assert "num_ctx" in offered("/set ", RecordingHost())


async def test_set_understands_the_way_ollama_writes_it() -> None:
    host = await run("/set parameter temperature 0.2")
    assert host.sampling.temperature == 0.2
    assert host.asked == [("info", "temperature is now 0.2.")]
    await run("/set parameter num_predict 100", host)
    assert host.sampling.max_tokens == 100
    await run("/set format json", host)
    assert host.sampling.response_format == "json"
    await run('/set system "Be brief."', host)
    assert host.prompt == "Be brief."


async def test_a_bad_value_is_refused_in_one_sentence_with_the_form() -> None:
    host = await run("/set temperature hot")
    assert host.asked == [
        (
            "error",
            "temperature does not take hot. It takes a number from 0 to 10, usually up to 2, or "
            "none: /set temperature 0.2",
        )
    ]
    assert host.sampling.temperature is None


async def test_an_unknown_option_names_the_nearest() -> None:
    assert (await run("/set temprature 1")).asked == [
        ("error", "There is no option temprature. Did you mean temperature?")
    ]
    assert (await run("/set qqqq")).asked == [
        ("error", "There is no option qqqq. /set alone lists them.")
    ]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Message("user", "Why\x1b[2J?\nplease"), "This chat is called “Why␛[2J?”."),
        (Message("user", "y" * 300), f"This chat is called “{'y' * 200}”."),
        (Message("assistant", "Hello."), "This chat has no title."),
    ],
)
async def test_rename_alone_says_the_title_and_how_to_change_it(
    message: Message, words: str
) -> None:
    host = RecordingHost()
    host.current.messages = [message]
    await run("/rename", host)
    assert host.asked == [("info", f"{words} To rename it: /rename TITLE")]
