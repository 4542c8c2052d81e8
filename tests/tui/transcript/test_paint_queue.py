"""Long blocks in the transcript: their end is seen, and others are painted, before colours come."""

import asyncio
import itertools

import pytest
from textual import _time

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.transcript.block import Block, BlockKind, TextSource
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from tests.tui.painters.painting import canvas
from tests.tui.transcript.test_transcript import content, lines, room, settled

CODE = "```python\n" + "return 1\n" * 6000


def refining(block: Block) -> bool:
    return block.painter is not None and block.painter.refining


async def test_the_end_of_long_code_is_seen_before_its_colours() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", CODE + "last line")
        transcript.finish("a")
        block = transcript.block_list.block("a")
        while transcript.busy and not refining(block):
            await asyncio.sleep(0)
        assert refining(block)
        assert len(content(transcript)) == 6002
        assert lines(transcript)[-1] == "    last line"
        await settled(pilot, transcript)
        assert lines(transcript)[-1] == "    last line"


async def test_a_long_answer_that_comes_at_once_is_seen_while_it_is_painted() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", CODE)
        transcript.finish("a")
        transcript.add_note("n", "a note below", "stats")
        block = transcript.block_list.block("a")
        while block.painter is None or block.painter.rows.row_count < 50:
            await asyncio.sleep(0)
        assert block.painter.rows.row_count < 6000
        assert any("return 1" in line for line in lines(transcript))
        await settled(pilot, transcript)


def test_other_blocks_are_painted_before_a_long_one_is_refined() -> None:
    block_list, wide = BlockList(), canvas(80)
    for name, text in (("short", "some **bold** text"), ("long", CODE)):
        source = TextSource(MarkdownPainter)
        source.append(text)
        source.finished = True
        block_list.add(Block(name, BlockKind.ANSWER, source, finished=True))
    queue = PaintQueue(block_list)
    queue.put(1)
    while not refining(block_list.blocks[1]):
        queue.work(wide, (0, 40), 0.0)
    queue.put(0)
    queue.put(1)
    for _ in range(5):
        queue.work(wide, (0, 40), 0.0)
    assert block_list.blocks[0].row(0).text == "some bold text"
    assert refining(block_list.blocks[1])


async def test_text_is_painted_however_late_a_timer_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with room() as (pilot, transcript, _):
        late = itertools.count(-1e9)  # before the clock of any machine, so that other timers wait
        monkeypatch.setattr(_time, "get_time", lambda: next(late))
        transcript.add_answer("a")
        transcript.append("a", "text")
        for _ in range(200):
            await pilot.pause()
            if not transcript.busy:
                break
        assert lines(transcript)[0] == "   text"
