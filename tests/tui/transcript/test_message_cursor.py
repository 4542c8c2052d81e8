"""Going through the chat by keys: the cursor on its messages."""

from pathlib import Path

import anyio
import pytest
from textual import events

from tests.tui.screens import staged
from tests.tui.transcript.reading import barred, press, two_answers, under_cursor


async def test_the_cursor_begins_at_the_newest_message_and_passes_figures_over(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up")
        assert under_cursor(stage) == "**answer** 2"
        assert barred(stage) == ["answer 2"]
        assert stage.chat.focused is stage.chat.transcript
        seen = []
        for key in ("alt+up", "up", "up", "up", "up", "up"):
            await press(stage, key)
            seen.append(under_cursor(stage))
        assert seen == ["thought 2", "two?", "**answer** 1", "thought 1", "one?", "one?"]
        await press(stage, "alt+down")
        assert under_cursor(stage) == "thought 1"
        await press(stage, "end")
        assert under_cursor(stage) == "**answer** 2"
        await press(stage, "home")
        assert under_cursor(stage) == "one?"


async def test_keys_that_matter_are_named_while_the_cursor_is_on(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        assert "^P palette" in stage.screen_text
        await press(stage, "alt+up")
        last = stage.screen_text.splitlines()[-1]
        assert "c copy" in last
        assert "^P" not in last
        await press(stage, "up")
        assert "Space fold" in stage.screen_text.splitlines()[-1]
        await press(stage, "escape")
        assert "^P palette" in stage.screen_text


async def test_the_message_is_copied_as_it_came(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "c")
        assert stage.app.clipboard == "**answer** 2"
        assert "Sent 1 line to the terminal's clipboard" in stage.screen_text
        assert under_cursor(stage) == "**answer** 2"


async def test_thinking_unfolds_under_the_cursor_and_an_answer_does_not(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "space")
        assert "Only thinking, tools, JSON and long messages fold" in stage.screen_text
        await press(stage, "up")
        assert "thought 2" not in stage.screen_text
        await press(stage, "space")
        assert "thought 2" in stage.screen_text
        assert "thought 2" in barred(stage)
        await press(stage, "space")
        assert "thought 2" not in stage.screen_text


async def test_what_is_typed_goes_on_in_the_input_with_the_draft_intact(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.type("draft ")
        await press(stage, "alt+up", *"qyc!")
        assert stage.chat.composer.value == "draft qyc!"
        assert stage.chat.transcript.mode is None
        assert stage.chat.focused is stage.chat.composer
        assert barred(stage) == []


@pytest.mark.parametrize("keys", [["alt+up"], ["alt+up", "up", "v"]], ids=["cursor", "caret"])
async def test_escape_stops_an_answer_first_and_leaves_the_messages_then(
    config: Path, keys: list[str]
) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.ask("three?")
        await press(stage, *keys)
        mode = stage.chat.transcript.mode
        last = stage.screen_text.splitlines()[-1]
        assert "Esc stop" in last
        assert "back" not in last
        assert "copy" in last
        await press(stage, "escape")
        assert not stage.client.is_open
        assert stage.chat.transcript.mode == mode is not None
        last = stage.screen_text.splitlines()[-1]
        assert "Esc stop" not in last
        assert "Esc back" in last
        await press(stage, *["escape"] * len(keys))
        assert stage.chat.focused is stage.chat.composer
        assert stage.chat.composer.value == ""


async def test_enter_goes_back_to_the_input_and_sends_nothing(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "enter")
        assert stage.chat.focused is stage.chat.composer
        assert stage.chat.composer.value == "draft"
        assert len(stage.client.prompts) == 2


@pytest.mark.parametrize("keys", [["alt+up"], ["alt+up", "v"]], ids=["cursor", "caret"])
async def test_backspace_goes_back_to_the_input_and_deletes_there(
    config: Path, keys: list[str]
) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.type("draft")
        await press(stage, *keys, "backspace", "!")
        assert stage.chat.focused is stage.chat.composer
        assert stage.chat.composer.value == "draf!"


async def test_control_c_leaves_the_messages_and_keeps_the_draft(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "ctrl+c")
        assert stage.chat.focused is stage.chat.composer
        assert stage.chat.composer.value == "draft"


async def test_a_paste_is_for_the_input(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up")
        stage.app.post_message(events.Paste("pasted"))
        await stage.settle()
        assert stage.chat.composer.value == "pasted"
        assert stage.chat.focused is stage.chat.composer


async def test_keys_that_were_on_their_way_arrive_in_order(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up")
        words = "zebras and other animals that graze"
        for letter in words:
            key = "space" if letter == " " else letter
            stage.app.post_message(events.Key(key, letter))
        await stage.settle()
        with anyio.fail_after(5):
            while len(stage.chat.composer.value) < len(words):
                await stage.pilot.pause()
        assert stage.chat.composer.value == words


async def test_an_empty_chat_has_no_message_to_go_to(config: Path) -> None:
    async with staged(config) as stage:
        await press(stage, "alt+up")
        assert "No messages yet" in stage.screen_text
        assert stage.chat.focused is stage.chat.composer


async def test_a_new_chat_takes_the_cursor_away(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "ctrl+n")
        assert stage.chat.transcript.mode is None
        assert stage.chat.focused is stage.chat.composer
        await stage.type("next")
        assert stage.chat.composer.value == "next"


async def test_a_click_on_the_chat_leaves_the_focus_where_it_is(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.pilot.click(offset=(10, 5))
        assert stage.chat.focused is stage.chat.composer
        await press(stage, "alt+up")
        await stage.pilot.click(stage.chat.composer)
        await stage.settle()
        assert stage.chat.transcript.mode is None
        assert barred(stage) == []


async def test_a_terminal_that_looks_away_keeps_the_cursor(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up")
        stage.app.post_message(events.AppBlur())
        await stage.settle()
        stage.app.post_message(events.AppFocus())
        await press(stage, "up")
        assert under_cursor(stage) == "thought 2"


async def test_a_long_message_is_shown_from_its_beginning_and_a_sleeping_one_wakes(
    config: Path,
) -> None:
    async with staged(config) as stage:
        view = stage.chat.transcript
        for number in range(300):
            view.add_user(f"u{number}", f"question {number}")
            view.add_answer(f"w{number}")
            view.append(f"w{number}", "\n\n".join(f"line {line}" for line in range(40)))
            view.finish(f"w{number}")
        await stage.settle()
        await press(stage, "alt+up")
        assert barred(stage)[0] == "line 0"
        await press(stage, "home")
        assert barred(stage) == ["▌ question 0"]
        await press(stage, "end", "up")
        assert barred(stage) == ["▌ question 299"]


async def test_the_palette_puts_the_cursor_on(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "ctrl+p")
        await stage.type("previous message")
        await press(stage, "enter")
        assert under_cursor(stage) == "**answer** 2"
        assert stage.chat.focused is stage.chat.transcript


async def test_the_bar_is_seen_without_colours(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged(config, theme="terminal") as stage:
        await two_answers(stage)
        await press(stage, "alt+up")
        view = stage.chat.transcript
        assert view.get_component_rich_style("transcript--cursor", partial=True).reverse
        assert barred(stage) == ["answer 2"]
