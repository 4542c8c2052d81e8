"""The caret in painted rows: wherever it goes there is text, and what it selects is that text."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import get_args

import anyio
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.selection import Selection

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.plain import PlainPainter
from ollm_tui.tui.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.transcript.block import MARGIN, Block, BlockKind, TextSource
from ollm_tui.tui.transcript.block_list import address
from ollm_tui.tui.transcript.caret import Caret, CaretMove
from ollm_tui.tui.transcript.selection import copied

WIDTH = 16
PIECES = (
    *("one two three four", "日本語の文 wide", "e\u0301 👩\u200d🚀 x", "word", "", "   "),
    *("> quoted words here", "- item", "# Title", "| a | b |\n|---|---|\n| c | d |"),
    *("```py\ncode = 1\n\nmore  \n```", "```\n" + "x" * 40 + "\n```"),
)
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("\n\n".join)
KINDS = st.sampled_from([BlockKind.USER, BlockKind.ANSWER, BlockKind.THINKING])
BLOCKS = st.lists(st.tuples(KINDS, TEXTS, st.booleans()), min_size=1, max_size=5)
MOVES = st.lists(
    st.tuples(st.sampled_from([*get_args(CaretMove), "mark"]), st.booleans()),
    min_size=10,
    max_size=40,
)


def block(number: int, kind: BlockKind, text: str, folded: bool = False) -> Block:
    plain = partial(PlainPainter, pick=lambda palette: palette.text)
    source = TextSource(MarkdownPainter if kind is BlockKind.ANSWER else plain)
    source.append(text)
    source.finished = True
    made = Block(f"b{number}", kind, source, gap=int(number > 0), finished=True)
    made.folded = folded and kind is BlockKind.THINKING
    return made


def paint(one: Block, canvas: Canvas) -> None:
    if not one.hides_its_rows:
        painter = one.paint_for(canvas, 0)
        while painter.work(0.0):
            pass
        one.settle()


def walking(blocks: Sequence[Block]) -> Caret:
    canvas = Canvas(WIDTH, Palette())

    async def ready(index: int) -> None:
        paint(blocks[index], canvas)

    return Caret(blocks, ready)


def all_rows(blocks: Sequence[Block]) -> Iterator[tuple[int, Row]]:
    for index, one in enumerate(blocks):
        paint(one, Canvas(WIDTH, Palette()))
        for offset in range(one.height):
            yield address(index, offset), one.row(offset)


def without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


class Naive:
    """The whole text as one string, and where each place of a row is in it."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.text = ""
        self.starts: dict[int, int] = {}
        is_first = True
        for packed, row in all_rows(blocks):
            if row.aside:
                continue
            self.text += "" if is_first else "\n" if row.join is None else row.join
            is_first = False
            self.starts[packed] = len(self.text) - row.gutter
            self.text += row.text[row.gutter :]

    def between(self, selection: Selection) -> str:
        assert selection.start is not None
        assert selection.end is not None
        start, end = (self.at(place) for place in selection)
        return without_trailing_blanks(self.text[start:end])

    def at(self, place: Offset | None) -> int:
        assert place is not None
        return self.starts[place.y] + place.x - MARGIN


async def obey(caret: Caret, moves: Sequence[tuple[str, bool]]) -> None:
    for name, extends in moves:
        if name == "mark":
            caret.toggle_mark()
        for move in get_args(CaretMove):
            if move == name:
                await caret.move(move, extends=extends, page=5)


@given(BLOCKS, MOVES, st.integers(0, 4))
def test_any_moves_stay_on_text_and_select_what_lies_between(
    made: list[tuple[BlockKind, str, bool]], moves: list[tuple[str, bool]], first: int
) -> None:
    blocks = [block(number, *one) for number, one in enumerate(made)]

    async def go() -> None:
        caret = walking(blocks)
        if not await caret.start(min(first, len(blocks) - 1)):
            assert not any(len(row.text) > row.gutter for _, row in all_rows(blocks))
            return
        for move in moves:
            await obey(caret, [move])
            check_place(caret, blocks)
        check_selection(caret, blocks)

    anyio.run(go)


def check_place(caret: Caret, blocks: Sequence[Block]) -> None:
    index, offset = caret.address
    row = blocks[index].row(offset)
    assert not row.aside
    assert MARGIN + row.gutter <= caret.position.x <= MARGIN + len(row.text)
    assert not row.text[caret.position.x - MARGIN :].startswith(("\u0301", "\u200d"))


def check_selection(caret: Caret, blocks: Sequence[Block]) -> None:
    selection = caret.selection
    if selection is not None:
        spans = ((row, selection.get_span(packed)) for packed, row in all_rows(blocks))
        text = copied((row, span) for row, span in spans if span is not None)
        assert text == Naive(blocks).between(selection)


async def test_words_ends_and_rows() -> None:
    blocks = [block(0, BlockKind.USER, "one two"), block(1, BlockKind.ANSWER, "> quoted text")]
    caret = walking(blocks)
    assert await caret.start(0)
    seen = []
    for move in ("word_right", "word_right", "right", "right", "word_left", "line_end", "up"):
        await obey(caret, [(move, False)])
        seen.append((*caret.address, caret.position.x - MARGIN))
    assert seen == [(0, 0, 4), (0, 0, 7), (1, 0, 0), (1, 1, 2), (1, 0, 0), (1, 0, 0), (0, 0, 0)]


async def test_up_and_down_keep_to_their_column_over_wide_characters() -> None:
    caret = walking([block(0, BlockKind.USER, "abcdef\n日本語\nx\nabcdef")])
    assert await caret.start(0)
    await obey(caret, [("right", False)] * 5)
    columns = []
    for _ in range(3):
        await obey(caret, [("down", False)])
        columns.append(caret.position.x - MARGIN)
    assert columns == [2, 1, 5]


async def test_shift_selects_a_plain_move_lets_go_and_a_mark_stays() -> None:
    caret = walking([block(0, BlockKind.USER, "one two three")])
    assert await caret.start(0)
    await obey(caret, [("word_right", True), ("right", True)])
    assert caret.selection == Selection(Offset(MARGIN, 0), Offset(MARGIN + 5, 0))
    await obey(caret, [("right", False)])
    assert caret.selection is None
    await obey(caret, [("mark", False), ("line_end", False)])
    assert caret.selection == Selection(Offset(MARGIN + 6, 0), Offset(MARGIN + 13, 0))
    await obey(caret, [("mark", False)])
    assert caret.selection is None
