"""`/image`: what it asks to be drawn, edited and saved."""

from dataclasses import replace

import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import parse, run_command, suggest
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.message import Message
from tests.commands.recording_host import RecordingHost
from tests.support.picture_bytes import png

WISH = DrawingWish(model="sd://painter", size="64x64", seed=9, count=2)
PICTURE = ImageContent(data=png(), mime_type="image/png", width=3, height=2)
USUAL = DrawingWish(model="")


def drawn_chat() -> RecordingHost:
    question = Message("user", "a red cat", metadata=WISH.metadata())
    answer = Message("assistant", [ImageContent(url="http://x/"), PICTURE])
    later = [Message("user", "Nice."), Message("assistant", "Thanks.")]
    return RecordingHost(current=Conversation(messages=[question, answer, *later]))


async def run(host: RecordingHost, text: str) -> str:
    call = parse(text, COMMANDS)
    assert call is not None
    await run_command(call, host)
    notes = [entry[1] for entry in host.asked if entry[0] == "error"]
    return notes[-1] if notes else ""


@pytest.mark.parametrize(
    ("typed", "prompt", "wish"),
    [
        ("a red cat", "a red cat", USUAL),
        ("--size 512x512 a red  cat", "a red cat", replace(USUAL, size="512x512")),
        (
            "a cat --seed=7 on --count 3 the moon --model sd://painter",
            "a cat on the moon",
            DrawingWish(model="sd://painter", seed=7, count=3),
        ),
        ("again and again", "again and again", USUAL),
        ("vary the sea", "vary the sea", USUAL),
        ("save the whales", "save the whales", USUAL),
        ("a well-known -- cat", "a well-known -- cat", USUAL),
    ],
)
async def test_a_prompt_is_drawn_as_its_options_say(
    typed: str, prompt: str, wish: DrawingWish
) -> None:
    host = drawn_chat()
    assert await run(host, f"/image {typed}") == ""
    assert host.drawn == [(prompt, wish)]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "What is to be drawn?"),
        ("--seed 3", "What is to be drawn?"),
        ("cat --size big", "--size takes width and height"),
        ("cat --seed x", "--seed takes a whole number."),
        ("cat --count 0", "--count takes a whole number from 1 to 20."),
        ("cat --steps 3", "/image has no option --steps."),
        ("vary 99", "vary takes a whole number from 1 to 20."),
    ],
)
async def test_what_makes_no_sense_is_not_drawn(typed: str, words: str) -> None:
    host = drawn_chat()
    assert words in await run(host, f"/image {typed}")
    assert host.drawn == []


async def test_the_last_prompt_is_drawn_again_with_another_seed_and_varied() -> None:
    host = drawn_chat()
    content = (TextContent("a red cat"),)
    await run(host, "/image again")
    await run(host, "/image vary")
    await run(host, "/image vary 2")
    assert host.drawn == [(content, replace(WISH, seed=None, count=count)) for count in (1, 4, 2)]


async def test_the_last_picture_is_edited_and_saved() -> None:
    host = drawn_chat()
    await run(host, "/image edit make it blue --seed 3")
    assert host.drawn == [
        ((TextContent("make it blue"), PICTURE), DrawingWish(model="", seed=3)),
    ]
    await run(host, "/image save")
    await run(host, "/image save cat.png")
    assert host.asked == [("save_picture", ""), ("save_picture", "cat.png")]


@pytest.mark.parametrize("typed", ["again", "vary", "edit it"])
async def test_without_a_picture_there_is_nothing_to_draw_again(typed: str) -> None:
    host = RecordingHost()
    assert "No picture was drawn in this chat yet." in await run(host, f"/image {typed}")


def test_it_is_suggested_where_a_model_draws_and_says_which() -> None:
    helps = {
        ("sd://painter",): "With sd://painter: draw a picture",
        ("sd://painter", "sd://other"): "With one of 2 models: draw a picture",
        ("sd://\x1b[31mred",): "With sd://⟦U+001B⟧[31mred: draw a picture",
    }
    for models, help in helps.items():
        host = replace(drawn_chat(), for_tasks={"picture": models})
        found = suggest("/ima", COMMANDS, host)
        assert found is not None
        (item,) = [item for item in found.items if item.value == "/image"]
        assert item.help.startswith(help)
    for typed in ("/ima", "/dictat", "/speak"):
        found = suggest(typed, COMMANDS, replace(drawn_chat(), for_tasks={}))
        names = [item.value for item in found.items] if found is not None else []
        assert not {"/image", "/dictate", "/speak"} & {*names}
    words = suggest("/image a", COMMANDS, drawn_chat())
    assert words is not None
    assert words.items[0].value == "again"
    assert suggest("/image a", COMMANDS, RecordingHost()) is None
