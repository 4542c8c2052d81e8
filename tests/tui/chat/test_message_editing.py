"""Going back in a chat: a question in other words, the same one again, Esc twice."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.tui.keys import double_escape
from ollm_tui.tui.keys.double_escape import DoubleEscape
from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient


async def three_answers(stage: Stage) -> None:
    for number, question in enumerate(("one?", "two?", "three?"), 1):
        await stage.ask(question)
        await answer(stage, f"answer {number}")


async def answer(stage: Stage, words: str) -> None:
    stage.client.give(text(words, f"block of {words}"), finish())
    stage.client.conversation.messages.append(Message("assistant", words))
    await stage.settle()


async def press(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


def texts_of(stage: Stage) -> list[str]:
    return [message.text for message in stage.client.conversation.messages]


async def test_an_edited_question_takes_the_place_of_the_old_one_when_it_is_sent(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "up", "up", "up", "e")
        assert stage.chat.composer.value == "two?"
        assert stage.chat.focused is stage.chat.composer
        assert "Editing an earlier message" in stage.screen_text
        assert "three?" in stage.shown  # nothing is dropped before it is sent
        assert stage.client.rewound == []
        await stage.type(" please")
        await press(stage, "enter")
        assert stage.client.rewound == [2]
        assert texts_of(stage) == ["one?", "answer 1", "two? please"]
        assert "three?" not in stage.shown
        assert "answer 2" not in stage.shown
        assert stage.chat.composer.value == "draft"
        assert "Editing" not in stage.screen_text
        await answer(stage, "anew")
        assert stage.shown.index("answer 1") < stage.shown.index("two? please")
        assert stage.shown.index("two? please") < stage.shown.index("anew")


async def test_a_message_that_reads_like_a_command_is_edited_as_a_message(config: Path) -> None:
    async with staged(config) as stage:
        await stage.send("//permissions all")
        await answer(stage, "Which ones?")
        assert texts_of(stage)[0] == "/permissions all"
        await press(stage, "alt+up", "up", "e")
        assert stage.chat.composer.value == "//permissions all"
        await press(stage, "enter")
        assert texts_of(stage) == ["/permissions all"]
        assert stage.chat.services.approver.permissions.mode == "ask"


async def test_letters_typed_right_after_e_come_behind_the_question(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "up", "e", "!", "?")
        assert stage.chat.composer.value == "three?!?"


async def test_escape_leaves_the_chat_as_it_is_and_gives_the_draft_back(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "home", "e", "x", "escape")
        assert stage.chat.composer.value == "draft"
        assert "Editing" not in stage.screen_text
        assert texts_of(stage)[-1] == "answer 3"
        await press(stage, "enter")
        assert stage.client.rewound == []
        assert texts_of(stage)[-1] == "draft"


async def test_only_ones_own_messages_of_words_are_edited(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "e")
        assert "Only your own messages can be edited" in stage.screen_text
        picture = ImageContent(url="https://a.example/p.png")
        messages = stage.client.conversation.messages
        messages[0] = Message("user", [TextContent("one?"), picture])
        await press(stage, "home", "e")
        assert "A message with more than text cannot be edited here" in stage.screen_text
        assert stage.chat.composer.value == ""
        assert stage.chat.transcript.mode == "cursor"


async def test_the_newest_question_is_asked_again_in_its_place(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "r")
        assert stage.client.prompts[-1] is None
        assert stage.client.rewound == []
        assert "answer 3" not in stage.shown
        assert stage.chat.focused is stage.chat.composer
        await answer(stage, "anew")
        assert stage.shown.count("three?") == 1


async def test_an_earlier_question_is_asked_again_after_a_second_word(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "home", "down", "r")
        assert (
            "Press r again to ask this again; what follows stays on another branch"
            in stage.screen_text
        )
        assert "three?" in stage.shown
        assert len(stage.client.prompts) == 3
        await press(stage, "r")
        assert stage.client.rewound == [1]
        assert stage.client.prompts[-1] is None
        assert texts_of(stage) == ["one?"]
        assert "two?" not in stage.shown
        await answer(stage, "anew")
        assert stage.shown.count("one?") == 1
        await stage.ask("next?")
        await answer(stage, "answer")
        await press(stage, "alt+up", "up", "e")
        assert stage.chat.composer.value == "next?"
        await press(stage, "enter")
        assert stage.client.rewound == [1, 2]


async def test_an_edit_outlives_that_its_question_is_asked_again(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "up", "e")
        await press(stage, "alt+up", "r")
        assert stage.client.prompts[-1] is None
        await answer(stage, "anew")
        assert "Editing" in stage.screen_text
        await press(stage, "!", "enter")
        assert stage.client.rewound == [4]
        assert texts_of(stage)[-2:] == ["answer 2", "three?!"]
        assert "anew" not in stage.shown
        assert "three?\n" not in stage.shown


async def test_an_edit_ends_with_a_word_when_its_question_is_taken_away(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "up", "e", "!")
        await press(stage, "alt+up", "home", "r", "r")
        assert stage.client.rewound == [1]
        assert "The message you edited is gone" in stage.screen_text
        assert stage.chat.composer.value == "draft"
        await answer(stage, "anew")
        await press(stage, "enter")
        assert stage.client.rewound == [1]
        assert texts_of(stage) == ["one?", "anew", "draft"]


def refuse_to_rewind(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kept: int) -> None:
        raise AIError(ErrorCode.BAD_REQUEST, f"There is nothing before {kept}.")

    monkeypatch.setattr(stage.client, "rewind", refuse)


async def test_an_edit_that_cannot_take_its_place_is_not_sent(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "home", "e", "!")
        with monkeypatch.context() as patch:
            refuse_to_rewind(stage, patch)
            await press(stage, "enter")
        assert "There is nothing before 0." in stage.screen_text
        assert stage.chat.composer.value == "one?!"
        assert "Editing" in stage.screen_text
        assert "answer 3" in stage.shown
        assert len(stage.client.prompts) == 3
        await press(stage, "enter")
        assert texts_of(stage) == ["one?!"]
        assert stage.chat.composer.value == "draft"


async def test_a_question_that_cannot_be_gone_back_to_is_not_asked_again(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        refuse_to_rewind(stage, monkeypatch)
        await press(stage, "alt+up", "home", "r", "r")
        assert "There is nothing before 1." in stage.screen_text
        assert "answer 3" in stage.shown
        assert len(stage.client.prompts) == 3


async def test_while_an_answer_comes_both_say_so(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await stage.ask("four?")
        await press(stage, "alt+up", "r")
        assert "An answer is still in progress" in stage.screen_text
        await press(stage, "e")
        assert stage.client.rewound == []
        assert stage.chat.composer.value == ""
        assert stage.client.is_open


async def test_a_restored_chat_knows_its_questions(config: Path) -> None:
    async with staged(config) as stage:
        messages = [
            Message("system", "Be brief."),
            Message("user", "one?"),
            Message("assistant", "1"),
            Message("user", "fix it", metadata={"correction": True}),
            Message("assistant", "2"),
            Message("user", "two?"),
            Message("assistant", "3"),
        ]
        controller = stage.controller
        client = stage.runtime.new_client()
        client.conversation.messages = messages
        controller.go_to(cast("ChatClient", client))
        await press(stage, "alt+up", "up", "e", "enter")
        assert client.rewound == [5]
        await answer(stage, "4")
        await press(stage, "alt+up", "home", "e", "enter")
        assert client.rewound == [5, 1]


async def test_a_new_chat_ends_the_edit_and_keeps_what_is_written(config: Path) -> None:
    async with staged(config) as stage:
        await three_answers(stage)
        await press(stage, "alt+up", "up", "e", "ctrl+n")
        assert "Editing" not in stage.screen_text
        assert stage.chat.composer.value == "three?"
        await press(stage, "enter")
        assert texts_of(stage) == ["three?"]
        assert stage.client.rewound == []


async def test_escape_twice_edits_the_newest_message_while_nothing_is_written(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(config) as stage:
        now = 100.0
        monkeypatch.setattr(stage.chat, "escapes", DoubleEscape(lambda: now))
        await press(stage, "escape", "escape")
        assert stage.chat.composer.value == ""
        await three_answers(stage)
        await stage.type("x")
        await press(stage, "escape", "escape")
        assert stage.chat.composer.value == "x"
        await press(stage, "backspace", "escape")
        assert "Press Esc again to edit your last message" in stage.screen_text
        await press(stage, "escape")
        assert stage.chat.composer.value == "three?"
        assert "Editing" in stage.screen_text


async def test_escapes_right_after_a_stop_edit_nothing(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(config) as stage:
        now = 100.0
        monkeypatch.setattr(stage.chat, "escapes", DoubleEscape(lambda: now))
        await three_answers(stage)
        await stage.ask("four?")
        await press(stage, "escape", "escape", "escape")
        assert stage.chat.composer.value == ""
        now += double_escape.NOT_AFTER_A_STOP_S
        await press(stage, "escape", "escape")
        assert stage.chat.composer.value == "four?"


@given(st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=12))
def test_a_second_press_follows_a_first_closely_and_no_stop(
    steps: list[tuple[float, bool]],
) -> None:
    now, last, stop = 0.0, None, None
    pressed = DoubleEscape(lambda: now)
    for wait, is_stop in steps:
        now += wait
        if is_stop:
            pressed.stopped()
            stop, last = now, None
            continue
        if stop is not None and now - stop < double_escape.NOT_AFTER_A_STOP_S:
            expected = None
        else:
            expected = last is not None and now - last < double_escape.AGAIN_WITHIN_S
            last = None if expected else now
        assert pressed.is_second() is expected
