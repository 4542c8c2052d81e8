"""A call that does not fit: no yes counts before every row of it was on the screen."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from textual import events

from ollm_tui.frontend.consent import ARMED_AFTER_S
from ollm_tui.frontend.link_target import read_link
from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision
from ollm_tui.tui.dialogs.questions import YesNoDialog
from ollm_tui.tui.dialogs.reading import Passage, Reading
from ollm_tui.tui.links.open_dialog import OpenLink
from tests.support.seeds import sampled
from tests.tui.dialogs.asking import SIXTY_FIVE, asked, call, typist

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject


async def test_what_does_not_fit_is_scrolled_and_never_cut() -> None:
    text = "".join(f"<{number}>" for number in range(3000))
    async with asked({"content": text}) as stage:
        await stage.wait(ARMED_AFTER_S)
        assert "Rows 1-" in stage.shown
        reading = stage.dialog.query_one(Reading)
        assert "".join(line for is_text, line in reading._lines if is_text) == text
        await stage.press("end")
        await stage.pilot.pause()
        assert "<2999>" in stage.shown


@pytest.mark.parametrize("key", ["y", "a"])
@pytest.mark.parametrize("way", [[], ["end"], ["end", "home"], ["pagedown"], ["down"] * 5])
async def test_what_was_not_shown_cannot_be_allowed(key: str, way: list[str]) -> None:
    async with asked(SIXTY_FIVE) as stage:
        await stage.wait(ARMED_AFTER_S)
        for scroll in way:
            await stage.press(scroll)
            await stage.pilot.pause()
        assert "not shown yet" in stage.shown
        assert "y once" not in stage.shown
        for _number in range(3):
            await stage.press(key)
        assert stage.decision is None
        await stage.press("n")
        assert stage.decision == Decision("no")


@pytest.mark.parametrize("size", sampled([(60, 14), (80, 24), (40, 12), (30, 16)], 1))
@pytest.mark.parametrize("step", ["down", "pagedown"])
async def test_scrolled_through_to_its_end_it_can_be_allowed(
    step: str, size: tuple[int, int]
) -> None:
    async with asked(SIXTY_FIVE, size=size) as stage:
        await stage.wait(ARMED_AFTER_S)
        rows = set(range(64))
        for _number in range(66):
            rows -= {int(word) for word in re.findall(r"line (\d+)\b", stage.shown)}
            assert stage.dialog.is_read <= (not rows)
            await stage.press(step)
            await stage.pilot.pause()
        assert stage.dialog.is_read
        assert not rows
        await stage.press("y")
        assert stage.decision == Decision("once")


LONG_ADDRESS = "https://example.com/" + "a" * 3000


@pytest.mark.parametrize(
    "make",
    [
        lambda clock: YesNoDialog(
            "Delete?",
            "It goes.",
            Passage("all of it", "\n" * 60),
            yes="delete",
            no="keep",
            clock=clock,
        ),
        lambda clock: OpenLink(LONG_ADDRESS, read_link(LONG_ADDRESS), clock=clock),
    ],
    ids=["yes or no", "link"],
)
async def test_no_dialog_hears_a_yes_before_all_was_shown(
    make: Callable[[Callable[[], float]], YesNoDialog | OpenLink],
) -> None:
    async with typist() as (app, pilot):
        dialog = make(lambda: app.now)
        answers: list[object] = []
        app.push_screen(dialog, answers.append)
        await pilot.pause()
        await pilot.pause()
        app.now += ARMED_AFTER_S
        dialog._say_when_armed()

        async def press(key: str) -> None:
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = app.now
            app.post_message(event)
            await pilot.pause()
            await pilot.pause()

        await press("y")
        await press("end")
        await press("y")
        assert answers == []
        await press("home")
        for _number in range(60):
            await press("pagedown")
        await press("y")
        assert answers in ([True], ["open"])


async def test_the_wheel_shows_rows_too() -> None:
    async with asked(SIXTY_FIVE) as stage:
        await stage.wait(ARMED_AFTER_S)
        reading = stage.dialog.query_one(Reading)
        for row in range(60):
            reading.scroll_to(y=row, animate=False)
            await stage.pilot.pause()
        assert stage.dialog.is_read
        assert "y once" in stage.shown


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 40), (10, 5), (80, 1), (80, 4), (300, 3)])
async def test_a_screen_too_small_to_show_the_call_cannot_allow_it_and_says_so(
    size: tuple[int, int],
) -> None:
    args: JsonObject = {"path": "notes/optics.md", "content": "one\ntwo\nthree"}
    async with asked(args, size=size) as stage:
        await stage.wait(ARMED_AFTER_S)
        for key in ("y", "a", "down", "pagedown", "end", "y", "a"):
            await stage.press(key)
            await stage.pilot.pause()
            await stage.wait(ARMED_AFTER_S)
        assert stage.decision is None
        letters = "".join(stage.shown.split())
        assert letters
        assert "Toosmalltoshowthequestion.".startswith(letters[:26])
        await stage.pilot.resize_terminal(80, 24)
        await stage.pilot.pause()
        await stage.pilot.pause()
        assert "Run write_file?" in stage.shown
        assert "y once" in stage.shown
        await stage.press("y")
        assert stage.decision == Decision("once")


async def test_a_screen_that_became_too_small_allows_nothing_though_all_was_shown() -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        assert stage.dialog.is_read
        await stage.pilot.resize_terminal(3, 2)
        await stage.pilot.pause()
        await stage.press("y")
        assert stage.decision is None
        await stage.press("escape")
        assert stage.decision == Decision("no")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("columns", [1, 7, 12, 18, 26, 80])
@pytest.mark.parametrize("rows", [3, 7, 9, 12, 24])
async def test_whatever_the_size_a_yes_means_that_all_was_on_the_screen(
    columns: int, rows: int
) -> None:
    args: JsonObject = {"text": "".join(f"<{number:02}>" for number in range(20))}
    async with asked(args, size=(columns, rows)) as stage:
        await stage.wait(ARMED_AFTER_S)
        frames = []
        for _number in range(40):
            frames.append(stage.shown)
            if stage.dialog.may_consent or stage.dialog.has_class("-too-small"):
                break
            await stage.press("down")
            await stage.pilot.pause()
        lines = [line for _is_text, line in stage.dialog.query_one(Reading)._lines]
        await stage.press("y")
        if stage.decision is None:
            letters = "".join(frames[-1].split())[:8]
            assert letters
            assert "Toosmall".startswith(letters)
        else:
            assert all(any(line in frame for frame in frames) for line in lines)


async def test_a_very_long_argument_opens_at_once() -> None:
    async with typist() as (app, pilot):
        started = time.monotonic()
        app.push_screen(ApproveTool(call({"content": "word " * 200_000}), "write"))
        await pilot.pause()
        assert time.monotonic() - started < 5


async def test_the_smallest_window_that_shows_the_question_names_a_key_that_answers() -> None:
    async with asked(SIXTY_FIVE, size=(20, 10)) as stage:
        await stage.wait(ARMED_AFTER_S)
        assert "n or Esc no" in stage.shown
