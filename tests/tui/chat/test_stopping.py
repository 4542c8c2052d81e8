"""Stopping, clearing and leaving by keys, and what becomes of what was queued."""

from pathlib import Path

from tests.tui.screens import staged
from tests.tui.scripted import text


async def test_escape_stops_at_once_and_keeps_what_came(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("Count.")
        stage.client.hangs_on_abort = True
        stage.client.give(text("one two"))
        await stage.settle()
        await stage.pilot.press("escape")
        await stage.settle()
        signal = stage.client.signals[0]
        assert signal is not None
        assert signal.aborted
        assert "one two" in stage.screen_text
        assert "■ stopped" in stage.screen_text
        await stage.ask("Again.")
        stage.client.answer("fine")
        await stage.settle()
        assert "fine" in stage.screen_text


async def test_what_is_typed_while_it_streams_waits_its_turn(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.ask("two")
        assert "1 queued · Up edits it · Esc returns it to the editor: two" in stage.screen_text
        assert stage.client.prompts == ["one"]
        stage.client.answer("first")
        await stage.settle()
        assert stage.client.prompts == ["one", "two"]
        assert "queued" not in stage.screen_text


async def test_escape_returns_what_is_queued_to_the_editor(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.ask("two")
        await stage.ask("three")
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.value == "two\n\nthree"
        assert stage.client.prompts == ["one"]


async def test_escape_closes_open_suggestions_first_and_stops_then(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("/m")
        assert stage.chat.composer.has_menu
        await stage.pilot.press("escape")
        await stage.settle()
        assert not stage.chat.composer.has_menu
        assert "Stopped" not in stage.shown
        await stage.pilot.press("escape")
        await stage.settle()
        assert "Stopped" in stage.shown
        assert stage.chat.composer.value == "/m"


async def test_control_c_stops_whatever_is_suggested(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("/m")
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert "Stopped" in stage.shown


async def test_control_c_stops_then_clears_then_quits_when_pressed_twice(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.type("draft")
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert "■ stopped" in stage.screen_text
        assert stage.chat.composer.value == "draft"
        await stage.pilot.press("ctrl+c")
        assert stage.chat.composer.value == ""
        await stage.pilot.press("up")
        assert stage.chat.composer.value == "draft"
        await stage.pilot.press("ctrl+c", "ctrl+c")
        await stage.settle()
        assert "Press Ctrl+C again to quit" in stage.screen_text
        assert stage.app.is_running
        await stage.pilot.press("ctrl+c")
        assert stage.app.return_code == 0


async def test_control_c_copies_a_selection_and_says_where_it_went(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.answer("copy me")
        await stage.settle()
        row = next(y for y, line in enumerate(stage.screen_text.splitlines()) if "copy me" in line)
        await stage.pilot.mouse_down(offset=(3, row))
        await stage.pilot.hover(offset=(10, row))
        await stage.pilot.mouse_up(offset=(10, row))
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert stage.app.clipboard == "copy me"
        assert "Sent 1 line to the terminal's clipboard" in stage.screen_text


async def test_control_c_copies_what_is_selected_in_the_input(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("words")
        await stage.pilot.press("shift+left", "shift+left", "ctrl+c")
        assert stage.app.clipboard == "ds"
        assert stage.chat.composer.value == "words"


async def test_a_copied_answer_cannot_drive_the_terminal_it_is_pasted_into(config: Path) -> None:
    async with staged(config) as stage:
        stage.chat.copying.text("a\x1b[2Jb")
        assert stage.app.clipboard == "a␛[2Jb"


async def test_quit_leaves(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/quit")
        assert stage.app.return_code == 0


async def test_a_storm_of_stops_and_prompts_ends_idle(config: Path) -> None:
    async with staged(config) as stage:
        for number in range(12):
            stage.chat.composer.insert("go")
            await stage.pilot.press("enter", "escape", "escape")
            if number % 3 == 0:
                await stage.settle()
        await stage.settle()
        assert not stage.controller.queue.is_busy
        assert "error" not in stage.screen_text
