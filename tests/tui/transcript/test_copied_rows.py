"""What is copied is all of what is selected, whatever becomes of its rows meanwhile."""

from collections.abc import Iterator

import anyio
import pytest
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from ollm_tui.tui.transcript.selection import Selected, copied
from ollm_tui.tui.transcript.transcript import Transcript
from tests.tui.transcript.test_transcript import room, settled

COUNT = 3000
"""Paragraphs; they take more rows than are read at once."""
LONG = "\n\n".join(f"paragraph *{number}* of a long answer" for number in range(COUNT))
SHOWN = LONG.replace("*", "")


def add_answer(transcript: Transcript, name: str, text: str) -> None:
    transcript.add_answer(name)
    transcript.append(name, text)
    transcript.finish(name)


async def half_painted(transcript: Transcript) -> None:
    """Wait until there are some rows and not all: a pilot's pause would see many more painted."""
    block = transcript.block_list.blocks[0]
    while block.painter is None or not block.painter.rows.row_count:
        await anyio.sleep(0.001)
    assert transcript.busy


def first_rows(rows: Iterator[Selected | None], count: int) -> list[Selected | None]:
    return [next(rows) for _ in range(count)]


async def test_a_block_that_is_still_painted_is_copied_whole() -> None:
    async with room() as (_pilot, transcript, _):
        add_answer(transcript, "long", LONG)
        await half_painted(transcript)
        assert copied(transcript.selection.rows(SELECT_ALL)) == SHOWN


@pytest.mark.slow
async def test_another_width_in_the_middle_of_a_copy_changes_nothing_in_it() -> None:
    async with room() as (pilot, transcript, _):
        add_answer(transcript, "long", LONG)
        await settled(pilot, transcript)
        rows = transcript.selection.rows(SELECT_ALL)
        begun = first_rows(rows, 500)
        await pilot.resize_terminal(30, 12)
        await pilot.pause()
        assert copied([*begun, *rows]) == SHOWN


@pytest.mark.slow
async def test_rows_that_are_let_go_in_the_middle_of_a_copy_are_in_it() -> None:
    async with room() as (pilot, transcript, _):
        add_answer(transcript, "long", LONG)
        await settled(pilot, transcript)
        rows = transcript.selection.rows(SELECT_ALL)
        begun = first_rows(rows, 500)
        transcript.block_list.blocks[0].sleep()
        transcript.clear()
        assert copied([*begun, *rows]) == SHOWN


@pytest.mark.slow
async def test_whether_there_is_text_is_known_without_painting() -> None:
    async with room() as (pilot, transcript, app):
        add_answer(transcript, "sleeps", LONG)
        await settled(pilot, transcript)
        for number in range(5):
            add_answer(transcript, f"later {number}", LONG)
            await settled(pilot, transcript)
        first = transcript.block_list.blocks[0]
        assert first.painter is None
        app.screen.selections = {transcript: SELECT_ALL}
        assert transcript.selection.has_text()
        assert first.painter is None


async def test_an_empty_selection_and_a_folded_block_have_no_text() -> None:
    async with room() as (pilot, transcript, app):
        transcript.add_thinking("thinking")
        transcript.append("thinking", "a thought")
        transcript.finish("thinking")
        await settled(pilot, transcript)
        app.screen.selections = {transcript: SELECT_ALL}
        assert not transcript.selection.has_text()
        transcript.folding.toggle("thinking")
        app.screen.selections = {transcript: SELECT_ALL}
        assert transcript.selection.has_text()
        app.screen.selections = {transcript: Selection(Offset(4, 1), Offset(4, 1))}
        assert not transcript.selection.has_text()
