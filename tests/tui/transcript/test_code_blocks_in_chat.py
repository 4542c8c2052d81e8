"""The code blocks of a message: gone through by keys, and copied."""

from pathlib import Path

import pytest
from textual.selection import Selection

from ollm_tui.tui.transcript import painting
from tests.tui.screens import staged
from tests.tui.transcript.reading import CODE, broadly_barred, press, two_answers, with_code


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
    monkeypatch.setattr(painting, "MAX_WAIT_S", 30)
    async with staged(config) as stage:
        view = stage.chat.transcript
        for name in ("first", "last"):
            view.add_answer(name)
            view.append(name, "\n\n".join(f"line {number}" for number in range(2500)))
            view.append(name, "\n\n" + CODE)
            view.finish(name)
        stage.chat.action_go_through(-1)
        await view.cursor_mode.action_code(1)
        await press(stage, "c")
        assert stage.app.clipboard == "one\n\tx  "
        assert view.block_list.blocks[0].painter is None
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
        assert "This message has no code block" in stage.screen_text
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
