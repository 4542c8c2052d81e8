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


class DialogStage:
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
) -> AsyncIterator[DialogStage]:
    async with typist(size) as (app, pilot):
        dialog = ApproveTool(call(args), effect, clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.pause()
        yield DialogStage(app, pilot, dialog)


@pytest.mark.parametrize(
    ("key", "kind"), [("y", "once"), ("a", "session"), ("n", "no"), ("escape", "no")]
)
async def test_once_armed_a_key_answers(key: str, kind: str) -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        await stage.press(key)
        assert stage.decision is not None
        assert (stage.decision.kind, stage.decision.reason) == (kind, None)
        assert len(stage.app.screen_stack) == 1


@pytest.mark.parametrize("key", ["enter", "space", "tab", "Y", "A", "1", "ctrl+y", "f1"])
async def test_no_other_key_answers(key: str) -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        await stage.press(key, "\r" if key == "enter" else None)
        assert stage.decision is None
        assert len(stage.app.screen_stack) == 2


async def test_before_it_is_armed_no_key_answers_and_it_says_why() -> None:
    async with asked() as stage:
        assert "Waiting for you to stop typing" in stage.shown
        for _number in range(40):
            await stage.wait(ARMED_AFTER_S / 2)
            await stage.press("y")
        assert stage.decision is None
        assert "Waiting for you to stop typing" in stage.shown
        await stage.wait(ARMED_AFTER_S)
        assert "y once" in stage.shown
        await stage.press("y")
        assert stage.decision == Decision("once")


async def test_escape_says_no_at_any_time() -> None:
    async with asked() as stage:
        await stage.press("escape")
        assert stage.decision == Decision("no")


async def test_a_word_typed_at_an_armed_dialog_disarms_it() -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        for letter in "they say yes any way":
            await stage.press("space" if letter == " " else letter, letter)
            stage.app.now += 0.03
        assert stage.decision is None


async def test_nothing_in_or_right_after_a_paste_answers() -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        paste = events.Paste("y\ny\n")
        paste.time = stage.app.now
        stage.app.post_message(paste)
        await stage.pilot.pause()
        for _key in range(3):
            stage.app.now += 0.05
            await stage.press("y")
        assert stage.decision is None


async def test_a_no_may_have_a_reason() -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        await stage.press("N")
        for letter in "yay":
            await stage.press(letter)
        assert stage.decision is None
        await stage.press("enter", "\r")
        assert stage.decision == Decision("no", "yay")


async def test_escape_leaves_the_reason_away() -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        await stage.press("N")
        await stage.press("x")
        await stage.press("escape")
        assert stage.decision == Decision("no")


async def test_it_shows_every_argument_with_every_character() -> None:
    async with asked(
        {"path": "a\u200bb", "deep": {"x": [1, "\u202e"]}, "empty": "", "yes": True, "none": None},
        size=(100, 40),
    ) as stage:
        shown = stage.shown
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
    async with asked({"content": text}) as stage:
        await stage.wait(ARMED_AFTER_S)
        assert "Rows 1-" in stage.shown
        reading = stage.dialog.query_one(Reading)
        assert "".join(line for is_text, line in reading._lines if is_text) == text
        await stage.press("end")
        await stage.pilot.pause()
        assert "<2999>" in stage.shown


SIXTY_FIVE: JsonObject = {"content": "\n".join(f"line {number}" for number in range(64))}
"""Sixty-five rows with the name of the argument."""


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


@pytest.mark.parametrize("size", [(80, 24), (60, 14), (40, 12), (30, 16)])
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


async def test_keys_typed_ahead_of_the_screen_allow_nothing() -> None:
    async with asked(SIXTY_FIVE) as stage:
        await stage.wait(ARMED_AFTER_S)
        for key in [*["pagedown"] * 20, "y"]:
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = stage.app.now
            stage.dialog.on_key(event)
        assert stage.decision is None


async def test_the_wheel_shows_rows_too() -> None:
    async with asked(SIXTY_FIVE) as stage:
        await stage.wait(ARMED_AFTER_S)
        reading = stage.dialog.query_one(Reading)
        for row in range(60):
            reading.scroll_to(y=row, animate=False)
            await stage.pilot.pause()
        assert stage.dialog.is_read
        assert "y once" in stage.shown


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


async def test_an_argument_cannot_pass_for_a_heading() -> None:
    async with asked({"note": "x\npath\n▌ harmless", "path\n▌ ok": "/etc/passwd"}) as stage:
        lines = [line.strip("│ ") for line in stage.shown.split("\n")]
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
        stage = DialogStage(app, pilot, dialog)
        assert "shown" in stage.shown
        assert "other" not in stage.shown


async def test_a_very_long_argument_opens_at_once() -> None:
    async with typist() as (app, pilot):
        started = time.monotonic()
        app.push_screen(ApproveTool(call({"content": "word " * 200_000}), "write"))
        await pilot.pause()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("close", ["withdraw", "exit"])
async def test_what_takes_it_away_means_no(close: str) -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        if close == "withdraw":
            stage.dialog.withdraw()
            await stage.pilot.pause()
            assert len(stage.app.screen_stack) == 1
        else:
            await stage.app.pop_screen()
        with anyio.fail_after(1):
            assert await stage.dialog.decision() == Decision("no")


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


async def test_a_thousand_openings_under_typing_approve_nothing() -> None:
    answered = []
    async with asked() as stage:
        for seed in range(1000):
            # as new: only the frame around it is not built a thousand times
            stage.dialog._arming = Arming()
            stage.dialog._decided = anyio.Event()
            stage.dialog._shown()
            for event in stream(seed, stage.app.now):
                stage.app.now = max(stage.app.now, event.time)
                stage.dialog.on_key(event)
            answered.append(stage.dialog._decided.is_set())
            stage.app.now += 10
        assert answered == [False] * 1000
        await stage.wait(ARMED_AFTER_S)
        await stage.press("y")
        assert stage.decision == Decision("once")


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
    async with asked() as stage:
        for _number in range(500):
            stage.app.now += chosen.uniform(0.4, 5)
            paste = events.Paste("".join(chosen.choices("ya\nN\x1b[201~", k=5)))
            paste.time = stage.app.now
            stage.dialog.on_paste(paste)
            for letter in chosen.choices(["y", "a", "N", "n", "enter"], k=4):
                stage.app.now += chosen.uniform(0, 0.05)
                event = events.Key(letter, letter if len(letter) == 1 else "\r")
                event.time = stage.app.now
                stage.dialog.on_key(event)
            assert not stage.dialog._decided.is_set()
            assert not stage.dialog.has_class("-reason")


BRACKETS = ["[/]", "[bold]x", "[@click=app.exit]x[/]", "[red", "]]", "\\[x]", "[link=x]y[/link]"]


@pytest.mark.parametrize("words", BRACKETS)
async def test_brackets_are_the_exact_characters_everywhere(words: str) -> None:
    async with typist((100, 30)) as (app, pilot):
        one = ToolCall(id="1", name=f"n{words}", args={f"k{words}": f"v{words}"})
        dialog = ApproveTool(one, "run", clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        stage = DialogStage(app, pilot, dialog)
        await stage.wait(ARMED_AFTER_S)
        for shown in (f"Run n{words}?", f"a n{words} for this chat", f"k{words}", f"v{words}"):
            assert shown in stage.shown


@pytest.mark.parametrize("way", ["another dialog closes", "the program is continued"])
async def test_who_comes_back_to_it_from_elsewhere_is_waited_for(way: str) -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        if way == "another dialog closes":
            stage.app.push_screen(ApproveTool(call(), "read", clock=lambda: stage.app.now))
            await stage.pilot.pause()
            await stage.wait(ARMED_AFTER_S)
            await stage.press("n")
        else:
            stage.app.screen.post_message(ShownAgain())
        await stage.pilot.pause()
        assert stage.app.screen is stage.dialog
        await stage.press("y")
        assert stage.decision is None
        await stage.wait(ARMED_AFTER_S)
        await stage.press("y")
        assert stage.decision == Decision("once")


async def test_the_smallest_window_that_shows_the_question_names_a_key_that_answers() -> None:
    async with asked(SIXTY_FIVE, size=(20, 10)) as stage:
        await stage.wait(ARMED_AFTER_S)
        assert "n or Esc no" in stage.shown
