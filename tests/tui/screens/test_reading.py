"""Going through the chat by keys: the cursor on its messages, and what is copied."""

import time
from pathlib import Path

import anyio
import pytest
from textual import events
from textual.selection import Selection

from ollm_tui.tui.modals.save_copy import SaveCopy
from ollm_tui.tui.widgets import transcript_view
from tests.support.screens import Stage, staged
from tests.support.scripted import finish, text, thinking


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


async def two_answers(stage: Stage) -> None:
    for number, question in enumerate(("one?", "two?"), 1):
        await stage.ask(question)
        stage.client.give(
            thinking(f"thought {number}", f"t{number}"),
            text(f"**answer** {number}", f"a{number}"),
            finish(),
        )
        await stage.settle()


def under_cursor(stage: Stage) -> str | None:
    block = stage.chat.transcript.cursor.block
    return None if block is None else block.source.text


def barred(stage: Stage) -> list[str]:
    """What stands in the rows that have the cursor's bar."""
    view = stage.chat.transcript
    style = view.get_component_rich_style("transcript--cursor", partial=True)
    strips = [view.render_line(y) for y in range(view.size.height)]
    return [
        strip.text.strip()
        for strip in strips
        if (first := next(iter(strip)).style) is not None
        and first.bgcolor == style.bgcolor
        and bool(first.reverse) == bool(style.reverse)
    ]


async def press(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


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
        assert "Only thinking and tools fold" in stage.screen_text
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
        await press(stage, "alt+up", *"xyc!")
        assert stage.chat.composer.value == "draft xyc!"
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
        assert "There is no message yet" in stage.screen_text
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
        await stage.type("go through the messages")
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


CODE = "Two:\n\n```py\none\n\tx  \n```\n\nand\n\n- item\n\n  ```\n  two\n  ```\n"


async def with_code(stage: Stage) -> None:
    await stage.ask("code?")
    stage.client.give(text(CODE), finish())
    await stage.settle()


def broadly_barred(stage: Stage) -> list[str]:
    """What stands in the rows whose whole margin is marked."""
    view = stage.chat.transcript
    style = view.get_component_rich_style("transcript--cursor", partial=True)
    found = []
    for y in range(view.size.height):
        strip = view.render_line(y)
        margin = strip.crop(0, 3)
        if all(one.style is not None and one.style.bgcolor == style.bgcolor for one in margin):
            found.append(strip.crop(3, 60).text.strip())
    return found


async def test_tab_steps_through_the_code_blocks_and_copies_the_source(config: Path) -> None:
    async with staged(config) as stage:
        await with_code(stage)
        await press(stage, "alt+up", "tab")
        assert broadly_barred(stage) == ["py", "one", "x"]
        await press(stage, "c")
        assert stage.app.clipboard == "one\n\tx  "
        assert "Sent 2 lines" in stage.screen_text
        await press(stage, "tab", "c")
        assert broadly_barred(stage) == ["", "two"]
        assert stage.app.clipboard == "two"
        await press(stage, "tab", "c")
        assert broadly_barred(stage) == []
        assert stage.app.clipboard == CODE
        await press(stage, "shift+tab", "c")
        assert stage.app.clipboard == "two"


async def test_a_code_block_stays_chosen_at_another_width(config: Path) -> None:
    async with staged(config) as stage:
        await with_code(stage)
        await press(stage, "alt+up", "tab", "tab")
        await stage.pilot.resize_terminal(50, 20)
        await stage.settle()
        assert broadly_barred(stage)[-1] == "two"


async def test_code_is_found_in_an_answer_that_sleeps_or_is_still_painted(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # where it is matters here, not how long a person waits for it on a busy machine
    monkeypatch.setattr(transcript_view, "MOST_WAIT_S", 30)
    async with staged(config) as stage:
        view = stage.chat.transcript
        for name in ("first", "last"):
            view.add_answer(name)
            view.append(name, "\n\n".join(f"line {number}" for number in range(2500)))
            view.append(name, "\n\n" + CODE)
            view.finish(name)
        stage.chat.action_go_through(-1)
        await view.run_action("cursor_code(1)")
        await press(stage, "c")
        assert stage.app.clipboard == "one\n\tx  "
        assert view.shelf.blocks[0].painter is None
        await press(stage, "home", "tab", "tab", "c")
        assert stage.app.clipboard == "two"
        assert broadly_barred(stage)[-1] == "two"


async def test_a_code_block_that_was_gone_to_is_copied_after_its_answer_slept(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await with_code(stage)
        await press(stage, "alt+up", "tab")
        block = stage.chat.transcript.cursor.block
        assert block is not None
        block.sleep()
        await press(stage, "c")
        assert stage.app.clipboard == "one\n\tx  "


async def test_an_answer_without_code_says_so(config: Path) -> None:
    async with staged(config) as stage:
        await two_answers(stage)
        await press(stage, "alt+up", "tab")
        assert "There is no code block in this message" in stage.screen_text
        await press(stage, "up", "tab")
        assert stage.chat.focused is stage.chat.transcript


async def test_a_click_on_copy_copies_that_block(config: Path) -> None:
    async with staged(config) as stage:
        await with_code(stage)
        for number, source in enumerate(["one\n\tx  ", "two"]):
            # a word about the key may have moved the rows
            lines = stage.screen_text.splitlines()
            rows = [(line.rindex("copy"), y) for y, line in enumerate(lines) if "copy" in line]
            x, y = rows[number]
            await stage.pilot.click(offset=(x + 1, y))
            await stage.settle()
            assert stage.app.clipboard == source
        assert stage.chat.focused is stage.chat.composer


async def test_the_word_that_copies_is_never_in_a_selection(config: Path) -> None:
    async with staged(config) as stage:
        await with_code(stage)
        stage.chat.selections = {stage.chat.transcript: Selection(None, None)}
        selected = stage.chat.get_selected_text()
        assert selected is not None
        assert "copy" not in selected
        assert "Two:\n\none\n    x\n\nand" in selected


def carets(stage: Stage) -> list[str]:
    """What the caret stands on."""
    view = stage.chat.transcript
    return [
        segment.text
        for y in range(view.size.height)
        for segment in view.render_line(y)
        if segment.style is not None and segment.style.reverse
    ]


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
        assert carets(stage) == [view.shelf.blocks[0].source.text[0]]
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


async def answer(stage: Stage, letter: str, after_s: float = 10) -> None:
    """Press a key long after the dialog was drawn, or, with 0, before."""
    event = events.Key(letter, letter if len(letter) == 1 else None)
    event.time = time.monotonic() + after_s if after_s else 0.0
    stage.app.post_message(event)
    await stage.settle()


async def test_a_copy_that_no_clipboard_takes_is_offered_as_a_file(
    config: Path, tmp_path: Path
) -> None:
    copies = tmp_path / "copies"
    async with staged(config, copies=copies) as stage:
        await stage.ask("long?")
        long = "\n\n".join(f"paragraph {number}" for number in range(8000))
        stage.client.give(text(long), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        assert isinstance(stage.app.screen, SaveCopy)
        assert "15,999 lines" in stage.screen_text
        await press(stage, "escape")
        assert not copies.exists()
        assert stage.app.clipboard == ""
        await press(stage, "c")
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "The copy is in" not in stage.shown:
                await stage.settle()
        (file,) = copies.iterdir()
        assert file.read_text("utf-8") == long
        assert file.name in stage.shown
        assert stage.chat.focused is stage.chat.transcript


async def test_keys_on_their_way_to_the_input_write_no_file(config: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    async with staged(config, copies=copies) as stage:
        await stage.ask("long?")
        stage.client.give(text("word " * 40_000), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        await answer(stage, "y", after_s=0)
        await answer(stage, "enter", after_s=0)
        assert isinstance(stage.app.screen, SaveCopy)
        await answer(stage, "enter")
        assert isinstance(stage.app.screen, SaveCopy)
        await answer(stage, "escape")
        assert not isinstance(stage.app.screen, SaveCopy)
        assert not copies.exists()


async def test_a_copy_that_cannot_be_written_is_said(config: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "copies"
    in_the_way.write_text("a file")
    async with staged(config, copies=in_the_way) as stage:
        await stage.ask("long?")
        stage.client.give(text("word " * 40_000), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "The copy could not be written" not in stage.shown:
                await stage.settle()
        assert in_the_way.read_text() == "a file"


async def test_a_large_selection_is_collected_whole_while_keys_are_answered(
    config: Path, tmp_path: Path
) -> None:
    async with staged(config, copies=tmp_path / "copies") as stage:
        view = stage.chat.transcript
        for number in range(300):
            view.add_answer(f"w{number}")
            view.append(f"w{number}", "\n\n".join(f"**line** {line}" for line in range(40)))
            view.finish(f"w{number}")
        await stage.settle()
        await stage.pilot.press("alt+up", "v", "a", "c")
        stage.chat.desk.new_chat() if stage.chat.desk is not None else None  # it is gone by now
        with anyio.fail_after(20):
            while not isinstance(stage.app.screen, SaveCopy):
                await stage.pilot.pause()
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "The copy is in" not in stage.shown:
                await stage.settle()
        (file,) = (tmp_path / "copies").iterdir()
        assert file.read_text("utf-8").count("line 39") == 300
