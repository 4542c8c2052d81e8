"""Searching a transcript: order, folds, growth, and what stays asleep."""

from time import monotonic

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ollm_tui.tui.painters.rows import Canvas, Palette
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from ollm_tui.tui.transcript.search.matches import Needle
from ollm_tui.tui.transcript.search.search import ANYWHERE, OLDER, Search, Tally
from ollm_tui.tui.transcript.search.session import CURRENT, FOUND, SearchMarks
from ollm_tui.tui.transcript.transcript import Transcript
from tests.decode.drawn import flat
from tests.tui.transcript.test_long_transcript import awake, load
from tests.tui.transcript.test_transcript import room, settled

CANVAS = Canvas(20, Palette())


def searched(transcript: Transcript, needle: str, *, done: bool = True) -> Search:
    canvas = transcript.block_list.canvas
    assert canvas is not None
    search = Search(Needle(needle), transcript.block_list.blocks, canvas)
    search.begin(len(transcript.block_list) - 1, ANYWHERE)
    if done:
        finish(search)
    return search


def finish(search: Search) -> None:
    while search.work(monotonic() + 1):
        pass


def answer(transcript: Transcript, block_id: str, text: str) -> None:
    transcript.add_answer(block_id)
    transcript.append(block_id, text)
    transcript.finish(block_id)


async def test_it_begins_at_the_newest_and_goes_round_both_ways() -> None:
    async with room() as (_pilot, transcript, _):
        transcript.add_user("u", "one sky")
        answer(transcript, "a", "no match")
        answer(transcript, "b", "a **sky** and a sky\n\n- sky")
        search = searched(transcript, "sky")
        seen = []
        for _ in range(5):
            seen.append((search.current, search.tally.rank))
            search.step(OLDER)
        assert seen == [((2, 2), 1), ((2, 1), 2), ((2, 0), 3), ((0, 0), 4), ((2, 2), 1)]
        search.step(1)
        search.step(1)
        assert search.current == (0, 0)
        assert search.tally == Tally(4, 4, is_done=True)


async def test_it_begins_above_the_given_row() -> None:
    async with room() as (_pilot, transcript, _):
        answer(transcript, "a", "sky\n\nsky\n\nsky")
        answer(transcript, "b", "sky")
        search = searched(transcript, "sky", done=False)
        search.begin(0, 3)
        finish(search)
        assert search.current == (0, 1)
        assert search.tally == Tally(3, 4, is_done=True)


async def test_a_step_waits_for_what_is_not_looked_at_yet() -> None:
    async with room() as (_pilot, transcript, _):
        load(transcript, 50)
        search = searched(transcript, "mark3 ", done=False)
        search.step(OLDER)
        assert search.current is None
        assert not search.tally.is_done
        finish(search)
        assert search.current == (7, 0)
        assert search.tally == Tally(1, 1, is_done=True)


async def test_nothing_found_is_known_at_the_end() -> None:
    async with room() as (_pilot, transcript, _):
        load(transcript, 5)
        assert searched(transcript, "nowhere").tally == Tally(None, 0, is_done=True)
        transcript.clear()
        search = searched(transcript, "nowhere")
        search.step(OLDER)
        assert search.tally == Tally(None, 0, is_done=True)


async def test_what_is_folded_is_searched_as_if_it_were_open() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        transcript.append("t", "deep sky")
        transcript.finish("t", summary="thought about the sky")
        transcript.add_tool("w", "fetch", "sky.html")
        transcript.end_tool("w", "done", 0.4, "\n".join(f"line {n}" for n in range(20)) + " sky")
        await settled(pilot, transcript)
        search = searched(transcript, "sky")
        assert search.tally.total == 3
        assert search.position == (1, 20)
        assert transcript.block_list.blocks[1].height == 2


async def test_an_answer_that_grows_is_looked_at_again() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "a sky\n\nand a sk")
        await settled(pilot, transcript)
        search = searched(transcript, "sky")
        assert search.tally.total == 1
        transcript.append("a", "y")
        search.follow()
        finish(search)
        assert search.tally == Tally(2, 2, is_done=True)
        transcript.finish("a")
        answer(transcript, "b", "sky")
        search.follow()
        finish(search)
        assert search.tally == Tally(3, 3, is_done=True)


async def test_blocks_that_were_taken_away_are_forgotten() -> None:
    async with room() as (_pilot, transcript, _):
        load(transcript, 20)
        search = searched(transcript, "mark")
        assert search.tally == Tally(1, 20, is_done=True)
        transcript.remove_from("u15")
        answer(transcript, "new", "mark mark mark")
        finish(search)
        search.follow()
        finish(search)
        assert search.tally.total == 18
        search.step(OLDER)
        assert search.position is not None


async def test_another_chat_in_the_place_of_the_one_searched_has_no_current_match() -> None:
    async with room() as (_pilot, transcript, _):
        answer(transcript, "a", "no match")
        answer(transcript, "b", "sky")
        search = searched(transcript, "sky")
        assert search.current == (1, 0)
        transcript.clear()
        answer(transcript, "c", "a sky")
        answer(transcript, "d", "no\n\nsky\n\nsky")
        assert search.position is None
        search.follow()
        finish(search)
        assert search.tally == Tally(None, 3, is_done=True)
        search.step(OLDER)
        assert (search.current, search.tally.rank) == ((1, 1), 1)


async def test_a_step_and_a_width_know_of_blocks_that_were_taken_away() -> None:
    async with room() as (_pilot, transcript, _):
        answer(transcript, "a", "sky sky sky")
        stepped, repainted = searched(transcript, "sky"), searched(transcript, "sky")
        transcript.clear()
        answer(transcript, "b", "sky sky")
        stepped.step(OLDER)
        finish(stepped)
        assert stepped.tally == Tally(1, 2, is_done=True)
        repainted.repaint(CANVAS)
        finish(repainted)
        assert repainted.tally == Tally(1, 2, is_done=True)


async def test_another_width_keeps_the_current_match() -> None:
    async with room() as (_pilot, transcript, _):
        load(transcript, 30)
        search = searched(transcript, "word7-")
        for _ in range(20):
            search.step(OLDER)
        before = search.current
        assert before is not None
        search.repaint(Canvas(20, Palette()))
        finish(search)
        assert search.current == before
        assert search.tally == Tally(21, 60, is_done=True)


@pytest.mark.slow
async def test_a_long_chat_stays_asleep() -> None:
    async with room() as (pilot, transcript, _):
        load(transcript, 1500)
        await settled(pilot, transcript)
        before = awake(transcript)
        common = searched(transcript, "strong")
        assert common.tally == Tally(1, 1500, is_done=True)
        assert searched(transcript, "mark1234 ").tally == Tally(1, 1, is_done=True)
        assert awake(transcript) == before


async def test_one_slice_is_short_and_later_ones_find_the_rest() -> None:
    async with room() as (_pilot, transcript, _):
        load(transcript, 300)
        search = searched(transcript, "strong", done=False)
        slices = 1
        while search.work(0.0):
            slices += 1
        assert slices > 300
        assert search.tally == Tally(1, 300, is_done=True)


TEXTS = st.sampled_from(["sky", "no", "sky sky\n\n- **sky**\n", "`s", "ky` sk", "y\n"])
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["user", "answer", "tool", "append", "swap"]), TEXTS),
    st.tuples(st.sampled_from(["finish", "work", "older", "newer", "follow"]), st.none()),
    st.tuples(st.just("cut"), st.integers(0, 5)),
    st.tuples(st.just("repaint"), st.integers(12, 40)),
)


def change_chat(transcript: Transcript, what: str, value: str, block_id: str) -> None:
    blocks = transcript.block_list.blocks
    if what == "user":
        transcript.add_user(block_id, value)
    elif what == "answer":
        transcript.add_answer(block_id)
        transcript.append(block_id, value)
    elif what == "tool":
        transcript.add_tool(block_id, value)
        transcript.end_tool(block_id, "done", 0.1, value)
    elif what == "swap":
        count = len(blocks)
        transcript.clear()
        for number in range(count):
            transcript.add_user(f"{block_id}-{number}", value)
    elif blocks:
        transcript.append(blocks[-1].id, value)


def change(transcript: Transcript, search: Search, what: str, value: object) -> None:
    blocks = transcript.block_list.blocks
    match what, value:
        case "finish", _ if blocks:
            transcript.finish(blocks[-1].id)
        case "cut", int() if value < len(blocks):
            transcript.remove_from(blocks[value].id)
        case "repaint", int():
            search.repaint(Canvas(value, Palette()))
        case "older", _:
            search.step(OLDER)
        case "newer", _:
            search.step(1)
        case "follow", _:
            search.follow()
        case "work", _:
            search.work(0.0)


@given(st.lists(CHANGES, max_size=40))
def test_whatever_happens_to_the_chat_the_count_is_right_in_the_end(
    changes: list[tuple[str, object]],
) -> None:
    transcript = Transcript()
    blocks = transcript.block_list.blocks
    search = Search(Needle("sky"), blocks, Canvas(20, Palette()))
    search.begin(0, ANYWHERE)
    for number, (what, value) in enumerate(changes):
        if isinstance(value, str):
            change_chat(transcript, what, value, f"{number}")
        else:
            change(transcript, search, what, value)
    search.follow()
    finish(search)
    fresh = Search(Needle("sky"), blocks, Canvas(search.canvas.width, Palette()))
    fresh.begin(0, ANYWHERE)
    finish(fresh)
    assert search.tally.total == fresh.tally.total
    seen = set()
    for _ in range(search.tally.total):
        search.step(OLDER)
        assert search.position is not None
        seen.add((search.current, search.tally.rank))
    assert {rank for _match, rank in seen} == set(range(1, search.tally.total + 1))


OPEN_LINK = "![alt](http://e.com/" + "abc/" * 40
GROWTH = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(["sky\n\n" * 40, OPEN_LINK, ") sky", "`", "\n"])),
    st.tuples(st.sampled_from(["work", "paint", "paint a bit", "follow", "finish"]), st.none()),
)


def grow(transcript: Transcript, queue: PaintQueue, what: str, piece: str | None) -> None:
    match what:
        case "append":
            transcript.append("a", piece or "")
        case "finish":
            transcript.finish("a")
        case "paint" | "paint a bit":
            queue.put(0)
            queue.work(CANVAS, (0, 24), monotonic() + (what == "paint"))


@given(st.lists(GROWTH, max_size=30))
@example(
    [
        ("append", "sky\n\n" * 40 + OPEN_LINK),
        ("paint", None),
        *[("work", None)] * 3,
        ("append", ") sky"),
        ("paint", None),
    ]
)
def test_a_search_is_left_alone_by_an_answer_that_grows_and_leaves_it_alone(
    changes: list[tuple[str, str | None]],
) -> None:
    transcript = Transcript()
    transcript.add_answer("a")
    (block,) = transcript.block_list.blocks
    queue = PaintQueue(transcript.block_list)
    search = Search(Needle("sky"), transcript.block_list.blocks, CANVAS)
    search.begin(0, ANYWHERE)
    for what, piece in changes:
        grow(transcript, queue, what, piece)
        before = block.height
        if what == "follow":
            search.follow()
        elif what == "work":
            search.work(0.0)
        assert block.height == before
    finish(search)
    search.follow()
    finish(search)
    fresh = Search(Needle("sky"), transcript.block_list.blocks, CANVAS)
    fresh.begin(0, ANYWHERE)
    finish(fresh)
    assert search.tally.total == fresh.tally.total


async def test_a_search_goes_on_while_the_open_end_of_an_answer_gets_shorter() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "a sky\n\n" * 200 + OPEN_LINK)
        await settled(pilot, transcript)
        rows = transcript.block_list.total
        search = searched(transcript, "sky", done=False)
        for _ in range(5):
            assert search.work(0.0)
        transcript.append("a", ") and a sky")
        await settled(pilot, transcript)
        assert transcript.block_list.total < rows
        finish(search)
        search.follow()
        finish(search)
        assert search.tally == Tally(2, 201, is_done=True)


async def test_marks_are_on_the_letters_and_the_current_one_differs() -> None:
    async with room() as (pilot, transcript, _):
        answer(transcript, "a", "> sky and sky")
        await settled(pilot, transcript)
        search = searched(transcript, "sky")
        (block,) = transcript.block_list.blocks
        row = block.row(0)
        spans = list(SearchMarks(search).spans(block, 0, 0, row))
        assert [(row.text[low - 3 : high - 3], name) for low, high, name in spans] == [
            ("sky", FOUND),
            ("sky", CURRENT),
        ]


async def test_the_words_below_a_picture_are_found_before_and_after_it_is_looked_at() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_picture("p", flat(), label="the sky at noon")
        load(transcript, 900)
        await settled(pilot, transcript)
        asleep = searched(transcript, "sky")
        assert transcript.block_list.blocks[0].painter is None
        transcript.scroll_home(animate=False)
        await settled(pilot, transcript)
        (block, *_others) = transcript.block_list.blocks
        assert asleep.position == searched(transcript, "sky").position
        assert asleep.position is not None
        row = block.row(asleep.position[1])
        ((low, high, name),) = SearchMarks(asleep).spans(block, 0, asleep.position[1], row)
        assert (row.text[low - 3 : high - 3], name) == ("sky", CURRENT)


async def test_rows_that_have_changed_are_not_marked_where_the_words_are_gone() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "the sky `ab")
        await settled(pilot, transcript)
        marks = SearchMarks(searched(transcript, "ab"))
        (block,) = transcript.block_list.blocks
        assert list(marks.spans(block, 0, 0, block.row(0)))
        transcript.append("a", "` c")
        await settled(pilot, transcript)
        row = block.row(0)
        for low, high, _name in marks.spans(block, 0, 0, row):
            assert row.text[low - 3 : high - 3] == "ab"
