"""The caret in a message: what it selects, and what is copied."""

from pathlib import Path

import pytest

from tests.tui.screens import staged
from tests.tui.transcript.reading import carets, press, two_answers, under_cursor


async def test_v_puts_a_caret_that_selects_with_shift_or_after_a_mark(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v")
        assert carets(stage) == ["a"]
        assert "v select" in stage.screen_text.splitlines()[-1]
        await press(stage, "ctrl+right", "shift+end")
        assert stage.chat.get_selected_text() == "2"
        await press(stage, "home")
        assert stage.chat.get_selected_text() is None
        await press(stage, "v", "right", "right", "right")
        assert stage.chat.get_selected_text() == "ans"
        await press(stage, "enter")
        assert stage.app.clipboard == "ans"
        assert stage.chat.transcript.mode == "cursor"
        assert stage.chat.selections == {}
        assert carets(stage) == []


async def test_the_caret_selects_over_messages_upwards(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "end", *["shift+up"] * 3, "shift+home")
        assert stage.chat.get_selected_text() == "\ntwo?\n\n\nanswer 2"
        await press(stage, "c")
        assert stage.app.clipboard == "\ntwo?\n\n\nanswer 2"


async def test_control_c_copies_what_the_caret_has_selected(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await stage.type("draft")
        await press(stage, "alt+up", "v", "shift+end", "ctrl+c")
        assert stage.app.clipboard == "answer 2"
        assert stage.chat.transcript.mode == "cursor"
        assert stage.chat.composer.value == "draft"


async def test_everything_can_be_selected(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "c")
        assert "Nothing is selected" in stage.screen_text
        await press(stage, "a", "c")
        assert "one?" in stage.app.clipboard
        assert "answer 2" in stage.app.clipboard


async def test_escape_goes_back_to_the_message_and_then_to_the_input(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "shift+end", "escape")
        assert stage.chat.transcript.mode == "cursor"
        assert stage.chat.selections == {}
        await press(stage, "escape")
        assert stage.chat.focused is stage.chat.composer


async def test_a_letter_leaves_the_caret_for_the_input(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "z")
        assert stage.chat.composer.value == "z"
        assert stage.chat.transcript.mode is None
        assert carets(stage) == []


async def test_the_caret_wakes_what_sleeps_and_stays_in_view(config: Path) -> None:
    async with staged(config) as stage:
        view = stage.chat.transcript
        for number in range(400):
            view.add_user(f"u{number}", f"question {number}")
            view.add_answer(f"w{number}")
            view.append(f"w{number}", "\n\n".join(f"line {line}" for line in range(20)))
            view.finish(f"w{number}")
        await stage.settle()
        await press(stage, "alt+up", "v", "ctrl+home")
        assert carets(stage) == [view.block_list.blocks[0].source.text[0]]
        assert "question 0" in stage.screen_text
        await press(stage, "pagedown", "shift+pagedown", "ctrl+shift+end")
        assert len(carets(stage)) == 1
        assert "line 19" in stage.screen_text
        selection = view.text_selection
        assert selection is not None
        text, _ = view.get_selection(selection) or ("", "")
        assert text.endswith("line 19")
        assert text.count("question") in {399, 400}


async def test_another_width_takes_the_caret_back_to_its_message(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "shift+end")
        await stage.pilot.resize_terminal(50, 20)
        await stage.settle()
        assert under_cursor(stage) == "**answer** 2"
        assert carets(stage) == []
        assert stage.chat.selections == {}
        await press(stage, "v")
        assert carets(stage) == ["a"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("theme", ["dusk", "paper", "contrast", "ember", "terminal"])
async def test_selected_text_can_be_read_in_every_theme(config: Path, theme: str) -> None:
    async with staged(config, theme=theme) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "v", "shift+right", "shift+right")
        view = stage.chat.transcript
        y = next(y for y in range(view.size.height) if "answer 2" in view.render_line(y).text)
        (style,) = {one.style for one in view.render_line(y) if one.text == "an"}
        plain = next(one.style for one in view.render_line(y) if one.text.startswith("wer"))
        assert style is not None
        assert plain is not None
        assert style.bgcolor != plain.bgcolor
        assert style.color != style.bgcolor
