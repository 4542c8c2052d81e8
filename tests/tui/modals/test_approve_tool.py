"""The approval dialog: it shows all of what will run, and hears only who has read it."""

import random
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolCall, ToolEffect
from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision
from ollm_tui.tui.dialogs.armed import ARMED_AFTER_S, Arming
from ollm_tui.tui.dialogs.questions import YesNoDialog
from ollm_tui.tui.dialogs.reading import Passage, Reading
from ollm_tui.tui.links.open_dialog import OpenLink
from ollm_tui.tui.links.target import read_link
from ollm_tui.tui.widgets.messages import ShownAgain
from tests.support.seeds import in_parts, sampled

ARGS: JsonObject = {"path": "notes/optics.md", "content": "one\n\ttwo\u202e", "limit": 3}


def call(args: JsonObject | None = None) -> ToolCall:
    return ToolCall(id="c1", name="write_file", args=ARGS if args is None else args)


class Typist(App[None]):
    """An app whose input had the focus when a dialog opened; time is what the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def compose(self) -> ComposeResult:
        yield Input()


@asynccontextmanager
async def typist(size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[Typist, Pilot[None]]]:
    app = Typist()
    async with app.run_test(size=size) as pilot:
        yield app, pilot


class Desk:
    """A dialog in front of somebody."""

    def __init__(self, app: Typist, pilot: Pilot[None], dialog: ApproveTool) -> None:
        self.app, self.pilot, self.dialog = app, pilot, dialog

    async def press(self, key: str, character: str | None = None) -> None:
        letter = key if len(key) == 1 else None
        event = events.Key(key, letter if character is None else character)
        event.time = self.app.now
        self.app.post_message(event)
        await self.pilot.pause()

    async def wait(self, seconds: float) -> None:
        self.app.now += seconds
        self.dialog._say_when_armed()
        await self.pilot.pause()

    @property
    def decision(self) -> Decision | None:
        return self.dialog._decision if self.dialog._decided.is_set() else None

    @property
    def shown(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)


@asynccontextmanager
async def asked(
    args: JsonObject | None = None,
    effect: ToolEffect = "write",
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Desk]:
    async with typist(size) as (app, pilot):
        dialog = ApproveTool(call(args), effect, clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.pause()
        yield Desk(app, pilot, dialog)


@pytest.mark.parametrize(
    ("key", "kind"), [("y", "once"), ("a", "session"), ("n", "no"), ("escape", "no")]
)
async def test_once_armed_a_key_answers(key: str, kind: str) -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        await desk.press(key)
        assert desk.decision is not None
        assert (desk.decision.kind, desk.decision.reason) == (kind, None)
        assert len(desk.app.screen_stack) == 1


@pytest.mark.parametrize("key", ["enter", "space", "tab", "Y", "A", "1", "ctrl+y", "f1"])
async def test_no_other_key_answers(key: str) -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        await desk.press(key, "\r" if key == "enter" else None)
        assert desk.decision is None
        assert len(desk.app.screen_stack) == 2


async def test_before_it_is_armed_no_key_answers_and_it_says_why() -> None:
    async with asked() as desk:
        assert "Waiting for you to stop typing" in desk.shown
        for _number in range(40):
            await desk.wait(ARMED_AFTER_S / 2)
            await desk.press("y")
        assert desk.decision is None
        assert "Waiting for you to stop typing" in desk.shown
        await desk.wait(ARMED_AFTER_S)
        assert "y once" in desk.shown
        await desk.press("y")
        assert desk.decision == Decision("once")


async def test_escape_says_no_at_any_time() -> None:
    async with asked() as desk:
        await desk.press("escape")
        assert desk.decision == Decision("no")


async def test_a_word_typed_at_an_armed_dialog_disarms_it() -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        for letter in "they say yes any way":
            await desk.press("space" if letter == " " else letter, letter)
            desk.app.now += 0.03
        assert desk.decision is None


async def test_nothing_in_or_right_after_a_paste_answers() -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        paste = events.Paste("y\ny\n")
        paste.time = desk.app.now
        desk.app.post_message(paste)
        await desk.pilot.pause()
        for _key in range(3):
            desk.app.now += 0.05
            await desk.press("y")
        assert desk.decision is None


async def test_a_no_may_have_a_reason() -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        await desk.press("N")
        for letter in "yay":
            await desk.press(letter)
        assert desk.decision is None
        await desk.press("enter", "\r")
        assert desk.decision == Decision("no", "yay")


async def test_escape_leaves_the_reason_away() -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        await desk.press("N")
        await desk.press("x")
        await desk.press("escape")
        assert desk.decision == Decision("no")


async def test_it_shows_every_argument_with_every_character() -> None:
    async with asked(
        {"path": "a\u200bb", "deep": {"x": [1, "\u202e"]}, "empty": "", "yes": True, "none": None},
        size=(100, 40),
    ) as desk:
        shown = desk.shown
        for words in (
            "Run write_file?",
            "It can change files.",
            "a⟦U+200B⟧b",
            '"⟦U+202E⟧"',
            "empty · empty",
            "yes · yes or no",
            "none · nothing",
            "deep · object",
        ):
            assert words in shown


async def test_what_does_not_fit_is_scrolled_and_never_cut() -> None:
    text = "".join(f"<{number}>" for number in range(3000))
    async with asked({"content": text}) as desk:
        await desk.wait(ARMED_AFTER_S)
        assert "Rows 1-" in desk.shown
        reading = desk.dialog.query_one(Reading)
        assert "".join(line for is_text, line in reading._lines if is_text) == text
        await desk.press("end")
        await desk.pilot.pause()
        assert "<2999>" in desk.shown


SIXTY_FIVE: JsonObject = {"content": "\n".join(f"line {number}" for number in range(64))}
"""Sixty-five rows with the name of the argument."""


@pytest.mark.parametrize("key", ["y", "a"])
@pytest.mark.parametrize("way", [[], ["end"], ["end", "home"], ["pagedown"], ["down"] * 5])
async def test_what_was_not_shown_cannot_be_allowed(key: str, way: list[str]) -> None:
    async with asked(SIXTY_FIVE) as desk:
        await desk.wait(ARMED_AFTER_S)
        for scroll in way:
            await desk.press(scroll)
            await desk.pilot.pause()
        assert "not shown yet" in desk.shown
        assert "y once" not in desk.shown
        for _number in range(3):
            await desk.press(key)
        assert desk.decision is None
        await desk.press("n")
        assert desk.decision == Decision("no")


@pytest.mark.parametrize("size", sampled([(60, 14), (80, 24), (40, 12), (30, 16)], 1))
@pytest.mark.parametrize("step", ["down", "pagedown"])
async def test_scrolled_through_to_its_end_it_can_be_allowed(
    step: str, size: tuple[int, int]
) -> None:
    async with asked(SIXTY_FIVE, size=size) as desk:
        await desk.wait(ARMED_AFTER_S)
        rows = set(range(64))
        for _number in range(66):
            rows -= {int(word) for word in re.findall(r"line (\d+)\b", desk.shown)}
            assert desk.dialog.is_read <= (not rows)
            await desk.press(step)
            await desk.pilot.pause()
        assert desk.dialog.is_read
        assert not rows
        await desk.press("y")
        assert desk.decision == Decision("once")


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


async def test_keys_typed_ahead_of_the_screen_allow_nothing() -> None:
    async with asked(SIXTY_FIVE) as desk:
        await desk.wait(ARMED_AFTER_S)
        for key in [*["pagedown"] * 20, "y"]:
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = desk.app.now
            desk.dialog.on_key(event)
        assert desk.decision is None


async def test_the_wheel_shows_rows_too() -> None:
    async with asked(SIXTY_FIVE) as desk:
        await desk.wait(ARMED_AFTER_S)
        reading = desk.dialog.query_one(Reading)
        for row in range(60):
            reading.scroll_to(y=row, animate=False)
            await desk.pilot.pause()
        assert desk.dialog.is_read
        assert "y once" in desk.shown


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 40), (10, 5), (80, 1), (80, 4), (300, 3)])
async def test_a_screen_too_small_to_show_the_call_cannot_allow_it_and_says_so(
    size: tuple[int, int],
) -> None:
    args: JsonObject = {"path": "notes/optics.md", "content": "one\ntwo\nthree"}
    async with asked(args, size=size) as desk:
        await desk.wait(ARMED_AFTER_S)
        for key in ("y", "a", "down", "pagedown", "end", "y", "a"):
            await desk.press(key)
            await desk.pilot.pause()
            await desk.wait(ARMED_AFTER_S)
        assert desk.decision is None
        letters = "".join(desk.shown.split())
        assert letters
        assert "Toosmalltoshowthequestion.".startswith(letters[:26])
        await desk.pilot.resize_terminal(80, 24)
        await desk.pilot.pause()
        await desk.pilot.pause()
        assert "Run write_file?" in desk.shown
        assert "y once" in desk.shown
        await desk.press("y")
        assert desk.decision == Decision("once")


async def test_a_screen_that_became_too_small_allows_nothing_though_all_was_shown() -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        assert desk.dialog.is_read
        await desk.pilot.resize_terminal(3, 2)
        await desk.pilot.pause()
        await desk.press("y")
        assert desk.decision is None
        await desk.press("escape")
        assert desk.decision == Decision("no")


@pytest.mark.parametrize("columns", [1, 7, 12, 18, 26, 80])
@pytest.mark.parametrize("rows", [3, 7, 9, 12, 24])
async def test_whatever_the_size_a_yes_means_that_all_was_on_the_screen(
    columns: int, rows: int
) -> None:
    args: JsonObject = {"text": "".join(f"<{number:02}>" for number in range(20))}
    async with asked(args, size=(columns, rows)) as desk:
        await desk.wait(ARMED_AFTER_S)
        frames = []
        for _number in range(40):
            frames.append(desk.shown)
            if desk.dialog.may_consent or desk.dialog.has_class("-too-small"):
                break
            await desk.press("down")
            await desk.pilot.pause()
        lines = [line for _is_text, line in desk.dialog.query_one(Reading)._lines]
        await desk.press("y")
        if desk.decision is None:
            letters = "".join(frames[-1].split())[:8]
            assert letters
            assert "Toosmall".startswith(letters)
        else:
            assert all(any(line in frame for frame in frames) for line in lines)


async def test_an_argument_cannot_pass_for_a_heading() -> None:
    async with asked({"note": "x\npath\n▌ harmless", "path\n▌ ok": "/etc/passwd"}) as desk:
        lines = [line.strip("│ ") for line in desk.shown.split("\n")]
        assert "▌ path" in lines
        assert "path" not in lines
        assert "path⟦U+000A⟧▌ ok" in lines


async def test_later_changes_of_the_call_do_not_reach_the_dialog() -> None:
    args: JsonObject = {"path": "shown"}
    async with typist() as (app, pilot):
        dialog = ApproveTool(call(args), "write")
        args["path"] = "other"
        app.push_screen(dialog)
        await pilot.pause()
        desk = Desk(app, pilot, dialog)
        assert "shown" in desk.shown
        assert "other" not in desk.shown


async def test_a_very_long_argument_opens_at_once() -> None:
    async with typist() as (app, pilot):
        started = time.monotonic()
        app.push_screen(ApproveTool(call({"content": "word " * 200_000}), "write"))
        await pilot.pause()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("close", ["withdraw", "exit"])
async def test_what_takes_it_away_means_no(close: str) -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        if close == "withdraw":
            desk.dialog.withdraw()
            await desk.pilot.pause()
            assert len(desk.app.screen_stack) == 1
        else:
            await desk.app.pop_screen()
        with anyio.fail_after(1):
            assert await desk.dialog.decision() == Decision("no")


def stream(seed: int, opened_at: float) -> list[events.Key]:
    """Thirty keys a second, begun before the dialog opens and with what it listens for."""
    chosen = random.Random(seed)
    names = ["y", "a", "N", "n", "enter", "space", "1", "h", "down", "pagedown", "backspace"]
    found = []
    now = opened_at - 0.2
    for _number in range(60):
        name = chosen.choice(names)
        character = {"enter": "\r", "space": " "}.get(name, name if len(name) == 1 else None)
        event = events.Key(name, character)
        event.time = now
        found.append(event)
        now += chosen.uniform(0.01, 0.06)
    return found


@in_parts(4)
async def test_a_thousand_openings_under_typing_approve_nothing(part: int) -> None:
    answered = []
    async with asked() as desk:
        for seed in range(part, 1000, 4):
            # as new: only the frame around it is not built a thousand times
            desk.dialog._arming = Arming()
            desk.dialog._decided = anyio.Event()
            desk.dialog._shown()
            for event in stream(seed, desk.app.now):
                desk.app.now = max(desk.app.now, event.time)
                desk.dialog.on_key(event)
            answered.append(desk.dialog._decided.is_set())
            desk.app.now += 10
        assert answered == [False] * 250
        await desk.wait(ARMED_AFTER_S)
        await desk.press("y")
        assert desk.decision == Decision("once")


async def test_a_dialog_that_opens_under_typing_approves_nothing() -> None:
    """The same through the app's own queue, where keys may wait from before it opened."""
    async with typist() as (app, pilot):
        for seed in range(10):
            dialog = ApproveTool(call({"path": "x"}), "run", clock=lambda: app.now)
            early: list[events.Key] = []
            late: list[events.Key] = []
            for event in stream(seed, app.now):
                (early if event.time < app.now else late).append(event)
            for event in early:
                app.post_message(event)
            app.push_screen(dialog)
            for event in late:
                app.now = event.time
                app.post_message(event)
            await pilot.pause()
            assert not dialog._decided.is_set()
            dialog.withdraw()
            await pilot.pause()
            app.now += 10


async def test_five_hundred_pastes_with_keys_in_their_tails_answer_nothing() -> None:
    chosen = random.Random(2)
    async with asked() as desk:
        for _number in range(500):
            desk.app.now += chosen.uniform(0.4, 5)
            paste = events.Paste("".join(chosen.choices("ya\nN\x1b[201~", k=5)))
            paste.time = desk.app.now
            desk.dialog.on_paste(paste)
            for letter in chosen.choices(["y", "a", "N", "n", "enter"], k=4):
                desk.app.now += chosen.uniform(0, 0.05)
                event = events.Key(letter, letter if len(letter) == 1 else "\r")
                event.time = desk.app.now
                desk.dialog.on_key(event)
            assert not desk.dialog._decided.is_set()
            assert not desk.dialog.has_class("-reason")


BRACKETS = ["[/]", "[bold]x", "[@click=app.exit]x[/]", "[red", "]]", "\\[x]", "[link=x]y[/link]"]


@pytest.mark.parametrize("words", BRACKETS)
async def test_brackets_are_the_exact_characters_everywhere(words: str) -> None:
    async with typist((100, 30)) as (app, pilot):
        one = ToolCall(id="1", name=f"n{words}", args={f"k{words}": f"v{words}"})
        dialog = ApproveTool(one, "run", clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        desk = Desk(app, pilot, dialog)
        await desk.wait(ARMED_AFTER_S)
        for shown in (f"Run n{words}?", f"a n{words} for this chat", f"k{words}", f"v{words}"):
            assert shown in desk.shown


@pytest.mark.parametrize("way", ["another dialog closes", "the program is continued"])
async def test_who_comes_back_to_it_from_elsewhere_is_waited_for(way: str) -> None:
    async with asked() as desk:
        await desk.wait(ARMED_AFTER_S)
        if way == "another dialog closes":
            desk.app.push_screen(ApproveTool(call(), "read", clock=lambda: desk.app.now))
            await desk.pilot.pause()
            await desk.wait(ARMED_AFTER_S)
            await desk.press("n")
        else:
            desk.app.screen.post_message(ShownAgain())
        await desk.pilot.pause()
        assert desk.app.screen is desk.dialog
        await desk.press("y")
        assert desk.decision is None
        await desk.wait(ARMED_AFTER_S)
        await desk.press("y")
        assert desk.decision == Decision("once")


async def test_the_smallest_window_that_shows_the_question_names_a_key_that_answers() -> None:
    async with asked(SIXTY_FIVE, size=(20, 10)) as desk:
        await desk.wait(ARMED_AFTER_S)
        assert "n or Esc no" in desk.shown
