"""Searching in the chat: the line, the keys, and the view that goes to what is found."""

import re
from pathlib import Path

import anyio
import pytest
from textual import events
from textual.widgets import Input

from tests.tui.chat.test_snapshots import ANSWER
from tests.tui.screens import Stage, staged
from tests.tui.scripted import text
from tests.tui.svg import SIZES, SvgSnapshot
from tests.tui.transcript.test_long_transcript import awake, load

sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
TALLY = re.compile(r"\d of |found|match|searching")


def tally(stage: Stage) -> str:
    (shown,) = [line for line in stage.screen_text.splitlines() if line.startswith("   Find")]
    return re.split(r"  +", shown.strip())[2] if TALLY.search(shown) else ""


async def looked(stage: Stage) -> str:
    """Let the search come to its end; gives what the line says then."""
    await stage.settle()
    with anyio.fail_after(60):
        while "+" in tally(stage) or "searching" in tally(stage):
            await stage.pilot.pause(0.01)
    await stage.settle()
    return tally(stage)


async def looked_again(stage: Stage) -> None:
    """Wait until an open search has looked whether the chat has changed."""
    finder = stage.chat.search.current
    assert finder is not None
    before = finder._followed_at
    with anyio.fail_after(5):
        while finder._followed_at == before:
            await stage.pilot.pause(0.01)


async def search(stage: Stage, needle: str) -> str:
    await stage.pilot.press("ctrl+f")
    stage.app.screen.query_one(Input).value = needle
    return await looked(stage)


async def burst(stage: Stage, *keys: str) -> None:
    """Send keys as one read gives them: none waits until another has been obeyed."""
    for key in keys:
        stage.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await stage.settle()


def fill(stage: Stage, count: int = 6) -> None:
    view = stage.chat.transcript
    for number in range(count):
        view.add_user(f"u{number}", f"Why is the sky blue at {number} o'clock?")
        view.add_answer(f"a{number}")
        view.append(f"a{number}", ANSWER)
        view.finish(f"a{number}")


def current(stage: Stage) -> str:
    """What is marked as the current match on the screen."""
    view = stage.chat.transcript
    style = view.get_component_rich_style("transcript--found-current", partial=True)
    strips = [view.render_line(y) for y in range(view.size.height)]
    return "|".join(
        segment.text
        for strip in strips
        for segment in strip
        if segment.style is not None and segment.style.bgcolor == style.bgcolor
    )


async def test_the_draft_and_the_focus_come_back_and_the_view_stays(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        await stage.type("my draft")
        await stage.pilot.press("ctrl+f")
        await stage.type("CLOCK")
        assert await looked(stage) == "no matches"
        await stage.pilot.press(*["backspace"] * 5)
        await stage.type("clock")
        assert await looked(stage) == "1 of 6"
        await stage.pilot.press("enter", "up", "up", "down")
        assert await looked(stage) == "3 of 6"
        assert current(stage) == "clock"
        assert "at 3 o'clock" in stage.screen_text
        top = stage.chat.transcript.scroll_offset.y
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.focused is stage.chat.composer
        assert stage.chat.composer.text == "my draft"
        assert stage.chat.transcript.scroll_offset.y == top
        assert not stage.chat.search_bar.display
        assert current(stage) == ""
        await stage.type("!")
        assert stage.chat.composer.text == "my draft!"


async def test_the_last_needle_is_there_again_and_is_overwritten(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        assert await search(stage, "violet") == "1 of 6"
        await stage.pilot.press("escape", "ctrl+f")
        assert await looked(stage) == "1 of 6"
        await stage.type("noon")
        assert stage.app.screen.query_one(Input).value == "noon"
        await stage.pilot.press("ctrl+f")
        await stage.type("x")
        assert await looked(stage) == "no matches"


async def test_a_held_key_opens_one_search(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        await burst(stage, "ctrl+f", "ctrl+f", "ctrl+f")
        stage.chat.search.find("violet")
        assert await looked(stage) == "1 of 6"
        await burst(stage, "escape", "ctrl+f", "escape", "ctrl+f", "ctrl+f")
        assert await looked(stage) == "1 of 6"


async def test_a_command_right_behind_the_key_is_searched_for(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        stage.chat.action_do("find")
        stage.chat.search.find("violet")
        assert await looked(stage) == "1 of 6"


async def test_what_is_typed_behind_the_key_in_one_go_is_searched_for(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        await stage.type("my draft")
        await burst(stage, "ctrl+f", *"noon")
        assert stage.app.screen.query_one(Input).value == "noon"
        assert await looked(stage) == "1 of 6"
        await burst(stage, "escape", "!")
        assert stage.chat.composer.text == "my draft!"
        await burst(stage, "ctrl+f", *"clock")
        assert await looked(stage) == "1 of 6"
        assert stage.chat.composer.text == "my draft!"


async def test_a_key_that_comes_after_the_end_of_a_search_leaves_no_trace(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        await burst(stage, "ctrl+f", "x", "escape")
        await burst(stage, "ctrl+f")
        assert stage.app.screen.query_one(Input).value == ""
        assert tally(stage) == ""


async def test_the_command_searches_for_its_argument(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.ask("/find RED")
        assert await looked(stage) == "no matches"
        await stage.pilot.press("escape")
        await stage.ask("/find  scatters least")
        assert await looked(stage) == "1 of 6"
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert stage.app.focused is stage.chat.composer


async def test_the_palette_opens_it_too(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.pilot.press("ctrl+p")
        await stage.type("search in this")
        await stage.pilot.press("enter")
        await stage.settle()
        await stage.type("noon")
        assert await looked(stage) == "1 of 6"
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.focused is stage.chat.composer


async def test_escape_closes_the_search_first_and_then_stops_the_answer(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("Why?")
        stage.client.give(text("The sky is "))
        await stage.settle()
        assert await search(stage, "sky") == "1 of 1"
        stage.client.give(text("blue, the sky at dusk is red.\n\n" + "More.\n\n" * 40))
        with anyio.fail_after(10):
            while tally(stage) != "2 of 2":
                await stage.pilot.pause(0.02)
        await stage.settle()
        assert current(stage) == "sky"
        assert stage.chat.transcript.scroller.unseen
        await stage.pilot.press("escape")
        await stage.settle()
        assert not stage.chat.search_bar.display
        assert stage.client.is_open
        await stage.pilot.press("escape")
        await stage.settle()
        assert not stage.client.is_open


async def test_the_match_stays_in_view_when_the_screen_is_resized(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage, 30)
        await search(stage, "violet")
        await stage.pilot.press(*["enter"] * 12)
        assert await looked(stage) == "13 of 30"
        for size in ((50, 20), (110, 40), (34, 14), (80, 24)):
            await stage.pilot.resize_terminal(*size)
            await stage.settle()
            await looked_again(stage)
            await stage.settle()
            assert current(stage) == "violet", size


async def test_the_match_stays_in_view_when_all_is_folded_or_unfolded(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        view = stage.chat.transcript
        for number in range(20):
            view.add_tool(f"t{number}", "read_file", f"{number}.txt")
            view.end_tool(f"t{number}", "done", 0.1, "line\n" * 9 + "deep word")
        fill(stage, 2)
        await stage.settle()
        await search(stage, "12.txt")
        assert current(stage) == "12.txt"
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert current(stage) == "12.txt"
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert current(stage) == "12.txt"


async def test_going_to_what_is_folded_unfolds_it(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        view = stage.chat.transcript
        view.add_thinking("h")
        view.append("h", "a deep thought")
        view.finish("h")
        view.add_tool("t", "read_file", "a.txt")
        view.end_tool("t", "done", 0.1, "line\n" * 9 + "deep word")
        fill(stage, 12)
        await stage.settle()
        assert await search(stage, "deep") == "1 of 2"
        assert "deep word" in stage.screen_text
        await stage.pilot.press("up")
        assert await looked(stage) == "2 of 2"
        assert "a deep thought" in stage.screen_text
        assert current(stage) == "deep"


async def test_scrolling_away_is_allowed_and_the_next_needle_begins_there(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage, 30)
        assert await search(stage, "noon") == "1 of 30"
        await stage.pilot.press("ctrl+home")
        await stage.settle()
        await looked_again(stage)
        assert stage.chat.transcript.scroll_offset.y == 0
        await stage.pilot.resize_terminal(60, 24)
        await looked_again(stage)
        assert await looked(stage) == "1 of 30"
        assert stage.chat.transcript.scroll_offset.y == 0
        stage.app.screen.query_one(Input).value = "violet"
        assert (await looked(stage)).startswith("30 of 30")
        assert stage.chat.transcript.scroll_offset.y < 10


@pytest.mark.slow
async def test_a_long_chat_is_searched_and_goes_on_sleeping(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        load(stage.chat.transcript, 1500)
        await stage.settle()
        before = len(awake(stage.chat.transcript))
        assert await search(stage, "strong") == "1 of 1,500"
        assert len(awake(stage.chat.transcript)) <= before + 5
        assert await search(stage, "mark700 ") == "1 of 1"
        assert current(stage) == "mark700 "
        await stage.settle()
        assert len(awake(stage.chat.transcript)) < 1000
        await stage.pilot.press("escape")
        await stage.settle()
        assert "mark700 " in stage.screen_text


async def test_nothing_is_looked_at_once_the_search_is_closed(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await search(stage, "sky")
        await stage.pilot.press("escape")
        await stage.settle()
        assert not [worker for worker in stage.app.workers if worker.group == "search"]
        assert stage.chat.transcript.renderer.marks == []


async def test_leaving_the_chat_ends_the_search(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        assert await search(stage, "violet") == "1 of 6"
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert stage.chat.search.current is None
        assert not stage.chat.search_bar.display
        assert stage.app.focused is stage.chat.composer
        fill(stage)
        await stage.settle()
        await stage.pilot.press("ctrl+f", "up")
        assert await looked(stage) == "2 of 6"


async def test_blocks_may_go_while_they_are_searched(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        view = stage.chat.transcript
        load(view, 600)
        await stage.settle()
        stage.chat.search.find("strong")
        await stage.pilot.pause(0.02)
        assert stage.chat.search.current is not None
        known = stage.chat.search.current.tally
        assert known is not None
        assert not known.is_done
        view.remove_from("u300")
        await stage.pilot.pause(0.02)
        view.clear()
        await stage.pilot.pause(0.02)
        load(view, 40)
        await looked_again(stage)
        assert await looked(stage) == "40 found"
        await stage.pilot.press("up")
        assert await looked(stage) == "1 of 40"


async def test_the_next_needle_begins_in_the_chat_that_is_there(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        fill(stage)
        await stage.settle()
        await stage.pilot.press("ctrl+home")
        await stage.settle()
        assert await search(stage, "noon") == "6 of 6"
        stage.chat.transcript.clear()
        fill(stage, 30)
        await stage.settle()
        await looked_again(stage)
        assert await looked(stage) == "30 found"
        await stage.pilot.press("up")
        assert await looked(stage) == "1 of 30"
        stage.app.screen.query_one(Input).value = "violet"
        assert await looked(stage) == "2 of 30"


@sizes
async def test_how_a_search_looks(
    size: tuple[int, int], tmp_path: Path, svg_snapshot: SvgSnapshot
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        fill(stage)
        await stage.settle()
        await search(stage, "scatter")
        await stage.pilot.press("up", "up")
        await looked(stage)
        svg_snapshot(stage.app)


@pytest.mark.parametrize("theme", ["terminal", "paper"])
async def test_how_a_search_looks_in_other_colours(
    theme: str, tmp_path: Path, svg_snapshot: SvgSnapshot
) -> None:
    async with staged(tmp_path / "config.toml", theme=theme) as stage:
        fill(stage)
        await stage.settle()
        await search(stage, "scatter")
        svg_snapshot(stage.app)


@pytest.mark.parametrize("theme", ["terminal", "dusk"])
async def test_how_a_search_looks_without_colours(
    theme: str, tmp_path: Path, svg_snapshot: SvgSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged(tmp_path / "config.toml", theme=theme) as stage:
        fill(stage)
        await stage.settle()
        await search(stage, "scatter")
        svg_snapshot(stage.app)
