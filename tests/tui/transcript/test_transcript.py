import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection
from textual.strip import Strip

from ollm_tui.tui.painters.rows import Row
from ollm_tui.tui.transcript import painting
from ollm_tui.tui.transcript.transcript import Transcript, TranscriptSelection

LONG = "\n\n".join(f"paragraph {number} of a long answer" for number in range(60))


class Holder(TranscriptSelection[None]):
    def compose(self) -> ComposeResult:
        yield Transcript()


class Room(App[None]):
    def get_default_screen(self) -> Holder:
        return Holder()


@asynccontextmanager
async def room(
    width: int = 60, height: int = 12
) -> AsyncIterator[tuple[Pilot[None], Transcript, Room]]:
    app = Room()
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        yield pilot, app.screen.query_one(Transcript), app


async def settled(pilot: Pilot[None], transcript: Transcript) -> None:
    for _ in range(10_000):
        await pilot.pause()
        if not transcript.busy:
            return
    raise AssertionError("the transcript never settled")


def content(transcript: Transcript) -> list[Row]:
    found = (
        transcript.block_list.row_at(number) for number in range(transcript.virtual_size.height)
    )
    return [each[0] for each in found if each is not None]


def lines(transcript: Transcript) -> list[str]:
    """What is on the screen, top to bottom."""
    height = transcript.size.height
    return [transcript.render_line(y).text.rstrip() for y in range(height)]


async def test_a_chat_is_shown_in_order_with_its_marks() -> None:
    async with room(height=20) as (pilot, transcript, _):
        transcript.add_user("u", "Why [/INST] is\nit [bold]so[/bold]?")
        transcript.add_thinking("t")
        transcript.append("t", "hm\x1b[2J")
        transcript.finish("t", summary="thought for 3.2 s")
        transcript.add_answer("a")
        transcript.append("a", "Because **so**.")
        transcript.finish("a")
        transcript.add_note("s", "12 tokens", "stats")
        transcript.add_note("e", "It broke.", "error", hint="r retry")
        await settled(pilot, transcript)
        assert lines(transcript)[:13] == [
            " ▌ Why [/INST] is",
            " ▌ it [bold]so[/bold]?",
            "",
            "   ▸ thought for 3.2 s",
            "   Because so.",
            "",
            "   12 tokens",
            "",
            " ▌ It broke.",
            " ▌ r retry",
            "",
            "",
            "",
        ]


async def test_what_comes_before_the_first_frame_is_shown() -> None:
    app = Room()
    screen = Holder()
    app.get_default_screen = lambda: screen  # type: ignore[method-assign]  # one known screen
    transcript = Transcript()
    screen.compose = lambda: iter([transcript])  # type: ignore[method-assign]  # filled before
    transcript.add_answer("a")
    transcript.append("a", "early")
    transcript.finish("a")
    async with app.run_test() as pilot:
        await settled(pilot, transcript)
        assert lines(transcript)[0] == "   early"


async def test_nothing_ever_stands_in_the_first_column() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_user("u", "x" * 500)
        transcript.add_answer("a")
        transcript.append("a", "```\n" + "y" * 500 + "\n```\n> q\n\n| a | b |\n|-|-|\n| c | d |")
        transcript.finish("a")
        await settled(pilot, transcript)
        transcript.scroll_home(animate=False)
        for y in range(transcript.virtual_size.height):
            transcript.scroll_to(y=y, animate=False)
            assert all(line[:1] in {"", " "} for line in lines(transcript))


async def test_thinking_is_open_while_it_streams_and_folds_when_done() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        transcript.append("t", "step one")
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == ["   ▾ thinking", "   step one"]
        transcript.finish("t", summary="thought for 1 s")
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == ["   ▸ thought for 1 s", ""]
        transcript.folding.toggle("t")
        assert lines(transcript)[:2] == ["   ▾ thought for 1 s", "   step one"]
        transcript.folding.toggle_thinking()
        assert lines(transcript)[0] == "   ▸ thought for 1 s"
        transcript.folding.toggle_thinking()
        assert lines(transcript)[:2] == ["   ▾ thought for 1 s", "   step one"]


async def test_the_header_of_thinking_has_its_colours_before_anything_is_painted() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        first = transcript.block_list.blocks[0].header()
        transcript.append("t", "step one")
        await settled(pilot, transcript)
        assert transcript.block_list.blocks[0].header() == first
        assert all(segment.style and segment.style.bgcolor for segment in first.segments)


async def test_thinking_folded_while_it_streams_stays_folded_and_so_does_the_next() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        transcript.append("t", "step one")
        transcript.folding.toggle_thinking()
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == ["   ▸ thinking", ""]
        transcript.finish("t", summary="thought for 1 s")
        transcript.add_thinking("u")
        transcript.append("u", "step two")
        await settled(pilot, transcript)
        assert lines(transcript)[:4] == ["   ▸ thought for 1 s", "", "   ▸ thinking", ""]
        transcript.folding.toggle_thinking()
        await settled(pilot, transcript)
        assert "   step two" in lines(transcript)


async def test_shown_thinking_stays_open() -> None:
    async with room() as (pilot, transcript, _):
        transcript.folding.show_thinking = True
        transcript.add_thinking("t")
        transcript.append("t", "step one")
        transcript.finish("t", summary="thought")
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == ["   ▾ thought", "   step one"]


async def test_a_click_on_the_header_unfolds() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        transcript.append("t", "step one")
        transcript.finish("t", summary="thought")
        await settled(pilot, transcript)
        await pilot.click(Transcript, offset=(5, 0))
        assert lines(transcript)[1] == "   step one"


async def fill(pilot: Pilot[None], transcript: Transcript, text: str = LONG) -> None:
    transcript.add_answer("long")
    transcript.append("long", text)
    await settled(pilot, transcript)


async def test_the_view_follows_the_end_until_it_is_scrolled_away() -> None:
    async with room() as (pilot, transcript, _app):
        await fill(pilot, transcript)
        assert "paragraph 59" in lines(transcript)[-1]
        transcript.scroll_to(y=20, animate=False)
        await pilot.pause()
        top = lines(transcript)[0]
        scroller = transcript.scroller
        assert (scroller.pinned, scroller.unseen) == (True, False)
        transcript.append("long", "\n\nmore text\n\nand more")
        await settled(pilot, transcript)
        assert (scroller.pinned, scroller.unseen) == (True, True)
        assert lines(transcript)[0] == top
        assert lines(transcript)[-1].endswith(" ↓ new output")
        transcript.scroll_end(animate=False)
        await settled(pilot, transcript)
        assert (scroller.pinned, scroller.unseen) == (False, False)
        assert lines(transcript)[-1] == "   and more"
        transcript.append("long", "\n\nlast")
        await settled(pilot, transcript)
        assert lines(transcript)[-1] == "   last"


async def test_a_click_on_the_marker_goes_to_the_end() -> None:
    async with room() as (pilot, transcript, _):
        await fill(pilot, transcript)
        transcript.scroll_home(animate=False)
        transcript.append("long", "\n\nlast")
        await settled(pilot, transcript)
        await pilot.click(Transcript, offset=(50, 11))
        await settled(pilot, transcript)
        assert lines(transcript)[-1] == "   last"


@pytest.mark.parametrize("width", [30, 45, 90])
async def test_resizing_keeps_the_place(width: int) -> None:
    text = "\n\n".join(f"mark{number} " + "word " * 30 for number in range(80))
    async with room(width=60) as (pilot, transcript, _):
        await fill(pilot, transcript, text)
        transcript.add_user("u", "after " * 200)
        await settled(pilot, transcript)
        target = next(n for n, row in enumerate(content(transcript)) if "mark40 " in row.text)
        transcript.scroll_to(y=target, animate=False)
        await pilot.pause()
        await pilot.resize_terminal(width, 12)
        await settled(pilot, transcript)
        assert lines(transcript)[0].startswith("   mark40 ")
        await pilot.resize_terminal(60, 12)
        await settled(pilot, transcript)
        assert lines(transcript)[0].startswith("   mark40 ")


async def test_resizing_at_the_end_stays_at_the_end() -> None:
    async with room() as (pilot, transcript, _):
        await fill(pilot, transcript, "\n\n".join("word " * 40 for _ in range(60)) + "\n\nend")
        for width, height in ((30, 12), (90, 7), (60, 20)):
            await pilot.resize_terminal(width, height)
            await settled(pilot, transcript)
            assert lines(transcript)[-1] == "   end"


async def test_text_is_at_most_a_hundred_columns_wide() -> None:
    async with room(width=160) as (pilot, transcript, _):
        await fill(pilot, transcript, "word " * 100)
        assert max(len(line) for line in lines(transcript)) <= 103


@pytest.mark.parametrize(("typed_for", "is_painted"), [(0.0, False), (0.11, True)])
async def test_what_is_typed_is_shown_before_more_is_painted_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, typed_for: float, is_painted: bool
) -> None:
    now = 1000.0
    monkeypatch.setattr(painting, "monotonic", lambda: now)
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "one ")
        while transcript.busy:
            await pilot.pause()
            now += 0.01
        now += typed_for
        transcript.painting.yield_to_input()
        transcript.append("a", "two")
        for _ in range(20):
            await pilot.pause(0.01)
        assert ("two" in lines(transcript)[0]) is is_painted
        now += 0.03
        await settled(pilot, transcript)
        assert "one two" in lines(transcript)[0]


async def test_a_whole_text_and_the_end_of_an_answer_wait_for_no_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with room() as (pilot, transcript, _):
        await settled(pilot, transcript)
        monkeypatch.setattr(painting.FrameBudget, "wait_s", lambda _budget, _now: 3600.0)
        transcript.add_note("note", "Saved.", "info")
        await settled(pilot, transcript)
        transcript.add_answer("answer")
        transcript.append("answer", "one")
        transcript.finish("answer")
        await settled(pilot, transcript)
        shown = "\n".join(lines(transcript))
        assert "Saved." in shown
        assert "one" in shown


async def test_idle_keeps_no_timer() -> None:
    async with room() as (pilot, transcript, _):
        await fill(pilot, transcript)
        assert transcript.painting._frame_timer is None


async def test_only_changed_rows_are_drawn_while_the_view_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with room(height=30) as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "# one\n\ntwo\n\nthree\n\nfour")
        await settled(pilot, transcript)
        await pilot.pause()
        drawn: list[int] = []
        original = transcript.render_line

        def watched(y: int) -> Strip:
            drawn.append(y)
            return original(y)

        monkeypatch.setattr(transcript, "render_line", watched)
        transcript.append("a", " five")
        await settled(pilot, transcript)
        await pilot.pause()
        assert drawn == [6]


async def test_rows_that_do_not_change_keep_their_strips() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_answer("a")
        transcript.append("a", "one\n\ntwo\n\nthr")
        await settled(pilot, transcript)
        before = [transcript.render_line(y) for y in range(5)]
        transcript.append("a", "ee")
        await settled(pilot, transcript)
        after = [transcript.render_line(y) for y in range(5)]
        assert [old is new for old, new in zip(before, after, strict=True)] == [True] * 4 + [False]


async def test_a_new_theme_paints_again() -> None:
    async with room() as (pilot, transcript, app):
        await fill(pilot, transcript, "# Title")
        before = [segment.style for segment in transcript.render_line(0)]
        app.theme = "textual-light"
        await pilot.pause()
        await settled(pilot, transcript)
        assert [segment.style for segment in transcript.render_line(0)] != before
        assert lines(transcript)[0] == "   Title"


async def test_the_mouse_selects_text_without_gutters_and_joins_wrapped_rows() -> None:
    async with room(width=30) as (pilot, transcript, app):
        transcript.add_user("u", "one two three four five six seven eight")
        transcript.add_answer("a")
        transcript.append("a", "> quoted words that are wrapped here\n\n```\ncode\n```")
        transcript.finish("a")
        await settled(pilot, transcript)
        transcript.scroll_home(animate=False)
        await pilot.mouse_down(Transcript, offset=(7, 0))
        await pilot.hover(Transcript, offset=(8, 7))
        await pilot.mouse_up(Transcript, offset=(8, 7))
        assert app.screen.get_selected_text() == (
            "two three four five six seven eight\n\nquoted words that are wrapped here\n\ncode"
        )


async def test_selection_offsets_are_characters_also_after_wide_ones() -> None:
    async with room() as (pilot, transcript, app):
        await fill(pilot, transcript, "日本語 text é 👩\u200d🚀 end")
        await pilot.mouse_down(Transcript, offset=(10, 0))
        await pilot.hover(Transcript, offset=(13, 0))
        await pilot.mouse_up(Transcript, offset=(13, 0))
        assert app.screen.get_selected_text() == "text"
        shown = [
            segment.text
            for segment in transcript.render_line(0)
            if segment.style is not None
            and segment.style.bgcolor
            == app.screen.get_component_rich_style("screen--selection").bgcolor
        ]
        assert shown == ["text"]


async def test_the_whole_chat_can_be_copied() -> None:
    async with room() as (pilot, transcript, app):
        transcript.add_user("u", "question")
        transcript.add_thinking("t")
        transcript.finish("t", summary="thought")
        await fill(pilot, transcript, "# Title\n\n- item\n  - nested")
        app.screen.selections = {transcript: Selection(None, None)}
        assert app.screen.get_selected_text() == "question\n\n\nTitle\n\n• item\n  ◦ nested"


async def test_a_double_click_selects_a_word_and_a_triple_click_a_line() -> None:
    async with room(width=30) as (pilot, transcript, app):
        await fill(pilot, transcript, "see https://a.example/x-y and many more words in this line")
        await pilot.click(Transcript, offset=(12, 0), times=2)
        assert app.screen.get_selected_text() == "https://a.example/x-y"
        await pilot.click(Transcript, offset=(5, 1), times=3)
        assert app.screen.get_selected_text() == (
            "see https://a.example/x-y and many more words in this line"
        )


async def test_folding_drops_a_selection_whose_rows_have_moved() -> None:
    async with room() as (pilot, transcript, app):
        transcript.add_thinking("t")
        transcript.append("t", "x")
        transcript.finish("t")
        await fill(pilot, transcript, "text")
        app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(5, 1))}
        transcript.folding.toggle("t")
        assert app.screen.selections == {}


async def test_sources_are_given_back_as_they_came() -> None:
    async with room() as (_, transcript, __):
        assert transcript.block_list.last_answer_text() is None
        transcript.add_answer("a")
        transcript.append("a", "**x**\r\n\x1b")
        transcript.add_answer("b")
        transcript.add_user("u", "y")
        assert transcript.block_list.block("a").source.text == "**x**\r\n\x1b"
        assert transcript.block_list.last_answer_text() == "**x**\r\n\x1b"
        assert transcript.block_list.block("u").source.text == "y"


async def test_blocks_can_be_taken_away() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_user("u", "keep")
        await fill(pilot, transcript)
        transcript.remove_from("long")
        await settled(pilot, transcript)
        assert lines(transcript)[:2] == [" ▌ keep", ""]
        assert "long" not in transcript.block_list
        transcript.clear()
        assert transcript.virtual_size.height == 0
        transcript.add_user("u", "again")
        await settled(pilot, transcript)
        assert lines(transcript)[0] == " ▌ again"


async def test_whole_answers_look_as_those_that_came_in_pieces_and_are_painted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["", "one line", LONG, "# head\n\n```python\nx = 1\n```\n", "\n\n"]
    async with room() as (pilot, transcript, _):
        for number, text in enumerate(texts):
            transcript.add_answer(f"a{number}")
            transcript.append(f"a{number}", text)
            transcript.finish(f"a{number}")
        guessed = transcript.block_list.total
        await settled(pilot, transcript)
        shown = lines(transcript), [row.text for row in content(transcript)]
        transcript.clear()
        await settled(pilot, transcript)
        paintings: list[float] = []
        loop = asyncio.get_running_loop()

        def call_later(seconds: float, *work: Any, _call: Any = loop.call_later) -> Any:
            paintings.append(seconds)
            return _call(seconds, *work)

        monkeypatch.setattr(loop, "call_later", call_later)
        for number, text in enumerate(texts):
            transcript.add_answer(f"b{number}", text)
        assert transcript.block_list.total == guessed
        assert len(paintings) <= 2
        await settled(pilot, transcript)
        assert (lines(transcript), [row.text for row in content(transcript)]) == shown


async def test_an_id_is_used_once() -> None:
    async with room() as (_, transcript, __):
        transcript.add_user("u", "x")
        with pytest.raises(ValueError, match="already has a block u"):
            transcript.add_answer("u")


async def test_the_newest_of_many_blocks_are_painted_first() -> None:
    async with room() as (pilot, transcript, _):
        for number in range(200):
            transcript.add_answer(f"a{number}")
            transcript.append(f"a{number}", f"answer **{number}** " + "word " * 50)
            transcript.finish(f"a{number}")
        transcript.painting.paint_slice()
        assert any("answer 199" in line for line in lines(transcript))
        await settled(pilot, transcript)
        assert any("answer 199" in line for line in lines(transcript))
        assert sum(row.text.startswith("answer ") for row in content(transcript)) == 200


@pytest.mark.slow
async def test_a_pinned_view_stays_while_blocks_above_it_are_painted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(painting, "SLICE_S", 0.0)
    async with room() as (pilot, transcript, _):
        for number in range(60):
            transcript.add_answer(f"a{number}")
            words = " ".join(f"word{number}-{place}" for place in range(200))
            transcript.append(f"a{number}", f"answer {number} {words}")
            transcript.finish(f"a{number}")
        transcript.painting.paint_slice()
        while transcript.painting._queue.holds_any(*transcript.scroller.in_view):
            transcript.painting.paint_slice()
        transcript.scroll_to(y=transcript.max_scroll_y - 3, animate=False)
        top = lines(transcript)[0]
        assert transcript.busy
        assert transcript.scroller.pinned
        await settled(pilot, transcript)
        assert lines(transcript)[0] == top


async def test_unfolding_thinking_above_a_pinned_view_keeps_its_place() -> None:
    async with room() as (pilot, transcript, _):
        transcript.add_thinking("t")
        transcript.append("t", "\n".join(["thought"] * 50))
        transcript.finish("t")
        await fill(pilot, transcript)
        transcript.scroll_to(y=40, animate=False)
        top = lines(transcript)[0]
        before = transcript.scroll_offset.y
        transcript.folding.toggle_thinking()
        assert lines(transcript)[0] == top
        await settled(pilot, transcript)
        assert lines(transcript)[0] == top
        assert transcript.scroll_offset.y == before + 51


BRACKETS = [
    "[/INST]", "[/some/path]", "x[/red]", "regex [^/]+[/]", "[/", "deepseek[coder]:33b",
    "[ ] todo [x] done", "[@click=app.x]go[/]", "[b", "[bold]x[/bold]", "[[x]]", "[]", "[x",
    "a]b", "[red]", "[/]", "[link=http://x]y[/link]", "[1]", "array[0][1]", "[INST] hi [/INST]",
    "[$primary]x", "[on red]x", "[#ff0000]x", "[not bold]x", "[reverse]x[/reverse]",
    "[@click]x[/]", "[=x]", "[a=b]", "f[x]=[y]", "[[[", "]]]", "[/b", "a[/]b", "[!x]", "[ x ]",
    "[x][y]", "[b]unclosed", "[auto]x[/auto]", "[dim]x", "list[int | None]",
]  # fmt: skip


async def test_brackets_are_shown_exactly_in_every_kind_of_block() -> None:
    async with room(height=10) as (pilot, transcript, _):
        for number, text in enumerate(BRACKETS):
            transcript.clear()
            transcript.add_user(f"u{number}", text)
            transcript.add_thinking(f"t{number}")
            transcript.append(f"t{number}", text)
            transcript.add_answer(f"a{number}")
            transcript.append(f"a{number}", text)
            transcript.add_note(f"n{number}", text, "error", hint=text)
            transcript.finish(f"t{number}", summary=text)
            await settled(pilot, transcript)
            shown = [line[3:] for line in lines(transcript)]
            assert shown[:7] == [text, "", f"▸ {text}", text, "", text, text]
