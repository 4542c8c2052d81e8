"""A chat of thousands of messages: only what is looked at has rows."""

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from ollm_tui.tui.transcript.painting import NEAR_ROWS
from ollm_tui.tui.transcript.transcript import Transcript
from tests.tui.transcript.test_transcript import lines, room, settled

pytestmark = pytest.mark.slow


def message(number: int) -> str:
    words = " ".join(f"word{number}-{place}" for place in range(60))
    return f"mark{number} {words}\n\n- item\n- **strong** item\n\n```\ncode {number}\n```"


def load(transcript: Transcript, count: int) -> None:
    for number in range(count):
        transcript.add_user(f"u{number}", f"question {number}\nsecond line")
        transcript.add_answer(f"a{number}")
        transcript.append(f"a{number}", message(number))
        transcript.finish(f"a{number}")


def awake(transcript: Transcript) -> list[int]:
    blocks = transcript.block_list.blocks
    return [index for index, block in enumerate(blocks) if block.painter is not None]


async def test_the_end_of_a_long_chat_is_shown_and_the_rest_sleeps() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 1500)
        assert awake(transcript) == []
        await settled(pilot, transcript)
        assert any("code 1499" in line for line in lines(transcript))
        found = awake(transcript)
        assert found[-1] == 2999
        assert found[0] > 2500
        assert sum(transcript.block_list.blocks[index].row_count for index in found) < 2 * NEAR_ROWS


async def test_the_beginning_is_painted_when_it_is_looked_at_and_the_end_sleeps_again() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 1500)
        await settled(pilot, transcript)
        transcript.scroll_home(animate=False)
        assert lines(transcript)[:2] == [" ▌ question 0", " ▌ second line"]
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == [" ▌ question 0", " ▌ second line"]
        assert transcript.scroll_offset.y == 0
        assert awake(transcript)[-1] < 1000
        transcript.scroll_end(animate=False)
        await settled(pilot, transcript)
        assert any("code 1499" in line for line in lines(transcript))


async def page_up(pilot: Pilot[None], transcript: Transcript, rows: int) -> list[str]:
    transcript.scroll_relative(y=-rows, animate=False)
    await pilot.pause()
    return lines(transcript)


async def test_paging_up_misses_no_row_and_shows_none_twice() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 60)
        await settled(pilot, transcript)
        seen = lines(transcript)
        while transcript.scroll_offset.y > 0:
            before = seen[0:2]
            page = await page_up(pilot, transcript, 10)
            if transcript.scroll_offset.y == 0:
                break
            assert page[10:12] == before
            seen = page
        await settled(pilot, transcript)
        assert lines(transcript)[0] == " ▌ question 0"


async def test_a_selection_stays_on_its_text_while_blocks_above_are_painted() -> None:
    async with room() as (pilot, transcript, app):
        load(transcript, 1500)
        await settled(pilot, transcript)
        transcript.scroll_to(y=transcript.max_scroll_y // 2, animate=False)
        place = transcript.selection.position_at(3, 4)
        app.screen.selections = {transcript: Selection(place, Offset(400, place.y))}
        text = app.screen.get_selected_text()
        assert transcript.busy
        await settled(pilot, transcript)
        assert app.screen.get_selected_text() == text != ""


async def test_what_sleeps_is_copied_as_if_it_had_been_looked_at() -> None:
    async with room() as (pilot, transcript, app):
        load(transcript, 300)
        await settled(pilot, transcript)
        app.screen.selections = {transcript: Selection(None, None)}
        text = app.screen.get_selected_text() or ""
        assert all(f"question {number}\nsecond line" in text for number in range(300))
        assert all(f"\ncode {number}\n" in f"{text}\n" for number in range(300))
        assert len(awake(transcript)) < 600


async def test_a_sleeping_block_is_painted_for_the_width_it_is_seen_at() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 600)
        await settled(pilot, transcript)
        await pilot.resize_terminal(40, 12)
        await settled(pilot, transcript)
        assert any("code 599" in line for line in lines(transcript))
        transcript.scroll_home(animate=False)
        await settled(pilot, transcript)
        assert max(len(line) for line in lines(transcript)) <= 40
        assert lines(transcript)[0] == " ▌ question 0"


async def test_folds_count_also_for_what_sleeps() -> None:
    async with room() as (pilot, transcript, _):
        for number in range(900):
            transcript.add_tool(f"t{number}", "read_file", f"{number}.txt")
            transcript.end_tool(f"t{number}", "done", 0.1, "line\n" * 20)
        transcript.add_thinking("h")
        transcript.append("h", "deep")
        transcript.finish("h")
        await settled(pilot, transcript)
        assert transcript.folding.toggle_tools()
        transcript.scroll_home(animate=False)
        await settled(pilot, transcript)
        assert lines(transcript)[0].startswith("   ⚙ read_file  0.txt")
        assert lines(transcript)[1] == "     line"
        transcript.folding.toggle_tools()
        await settled(pilot, transcript)
        assert lines(transcript)[1].startswith("   ⚙ read_file  1.txt")


async def test_a_growing_answer_is_painted_far_from_the_view_too_and_reported() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 600)
        transcript.add_answer("new")
        transcript.append("new", "beginning")
        await settled(pilot, transcript)
        transcript.scroll_home(animate=False)
        await settled(pilot, transcript)
        assert not transcript.scroller.unseen
        transcript.append("new", " and more\n\nand more\n\nand more")
        await settled(pilot, transcript)
        assert transcript.scroller.unseen
        transcript.scroll_end(animate=False)
        await settled(pilot, transcript)
        assert lines(transcript)[-1] == "   and more"
