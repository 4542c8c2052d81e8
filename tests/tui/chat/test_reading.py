"""Jumps, marks, times and one message alone, over a real store."""

from datetime import datetime
from pathlib import Path

from textual.widgets import OptionList

from ollm_tui.tui.chat.reading import time_labels
from ollm_tui.tui.reading import FocusScreen
from tests.tui.chat.test_chat_tree import chatting, press
from tests.tui.screens import RealStage


def cursor_text(stage: RealStage) -> str:
    block = stage.chat.transcript.cursor_mode.cursor.block
    return "" if block is None else block.source.text


async def test_questions_are_reached_by_number_and_by_keys(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two", "echo three") as stage:
        await stage.send("/go 2")
        await stage.until(test=lambda: cursor_text(stage) == "echo two")
        await press(stage, "alt+pageup")
        assert cursor_text(stage) == "echo one"
        await stage.pilot.press("alt+pageup")
        await stage.until("This is the first question")
        assert cursor_text(stage) == "echo one"
        await press(stage, "alt+pagedown", "alt+pagedown")
        assert cursor_text(stage) == "echo three"
        await press(stage, "escape")
        assert cursor_text(stage) == ""
        await stage.send("/go 4")
        await stage.until("This chat has questions 1 to 3.")


async def test_what_a_command_says_is_seen_from_anywhere(tmp_path: Path) -> None:
    async with chatting(tmp_path, *(f"echo {number}" for number in range(9))) as stage:
        await press(stage, *["pageup"] * 3)
        assert "echo 8" not in stage.screen_text
        await stage.send("/go 99")
        await stage.until("This chat has questions 1 to 9.")
        await stage.send("/go 1")  # which says nothing, but goes there
        await stage.until(test=lambda: cursor_text(stage) == "echo 0")
        assert "echo 8" not in stage.screen_text


async def test_letters_go_to_the_input_after_a_jump(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await stage.send("/go 1")
        await stage.until(test=lambda: cursor_text(stage) == "echo one")
        await stage.pilot.press(*"do", "space", *"me")
        assert stage.chat.composer.text == "do me"
        assert cursor_text(stage) == "echo one"  # it is still seen which one was meant
        assert "two" in stage.screen_text
        await press(stage, "ctrl+c", "alt+up")  # from there on, keys are for the messages
        assert stage.chat.transcript.mode == "cursor"


async def test_marks_are_set_walked_listed_and_saved_with_the_chat(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await press(stage, "alt+up", "m")
        await stage.until("Marked", "◆")
        await press(stage, "home", "m")
        await stage.until(test=lambda: len(stage.chat.transcript.bylines.marked) == 2)
        await press(stage, "right_square_bracket")
        assert cursor_text(stage) == "two"
        await press(stage, "left_square_bracket")
        assert cursor_text(stage) == "echo one"
        await stage.pilot.press("left_square_bracket")
        await stage.until("No mark above")
        await press(stage, "m")
        await stage.until("Mark removed")
    async with chatting(tmp_path, go_on=True) as stage:
        await stage.until("◆")
        await stage.send("/marks")
        await stage.until("Marked messages", "Answer: two")
        assert stage.app.screen.query_one(OptionList).option_count == 1
        await press(stage, "enter")
        await stage.until(test=lambda: cursor_text(stage) == "two")


async def test_times_are_shown_on_demand(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        year = str(datetime.now().astimezone().year)
        assert f"{year} ·" not in stage.screen_text
        await press(stage, "alt+t")
        await stage.until(f"{year} ·")
        await press(stage, "alt+t")
        await stage.until("Times are hidden")
        assert f"{year} ·" not in stage.screen_text


async def test_one_answer_alone_is_read_copied_and_left(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await stage.send("/focus")
        await stage.until(test=lambda: isinstance(stage.app.screen, FocusScreen))
        await stage.until("two", "Esc back")
        assert "echo" not in stage.screen_text
        await press(stage, "x", "c", "v", "escape")
        assert isinstance(stage.app.screen, FocusScreen)
        assert stage.app.clipboard == "two"
        await press(stage, "escape")
        await stage.until("echo two")


def test_a_date_stands_where_the_day_changes() -> None:
    first = datetime(2026, 11, 28, 23, 59).astimezone()
    later = datetime(2026, 11, 29, 0, 1).astimezone()
    stamps = [int(one.timestamp() * 1000) for one in (first, first, later)]
    assert time_labels([*stamps, 0, 1 << 80]) == [
        *("Sat 28 Nov 2026 · 23:59", "23:59", "Sun 29 Nov 2026 · 00:01", "", "")
    ]
