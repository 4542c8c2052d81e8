"""The approval dialog: it shows all of what will run, and hears only who has read it."""

import random
from typing import TYPE_CHECKING

import anyio
import pytest
from textual import events

from ollm_tui.frontend.consent import ARMED_AFTER_S, Arming
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision
from ollm_tui.tui.widgets.messages import ShownAgain
from tests.support.seeds import in_parts
from tests.tui.dialogs.asking import SIXTY_FIVE, DialogStage, asked, call, typist

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject


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


async def test_keys_typed_ahead_of_the_screen_allow_nothing() -> None:
    async with asked(SIXTY_FIVE) as stage:
        await stage.wait(ARMED_AFTER_S)
        for key in [*["pagedown"] * 20, "y"]:
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = stage.app.now
            stage.dialog.on_key(event)
        assert stage.decision is None


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


@pytest.mark.parametrize("close", ["withdraw", "exit"])
async def test_what_takes_it_away_means_no(close: str) -> None:
    async with asked() as stage:
        await stage.wait(ARMED_AFTER_S)
        if close == "withdraw":
            stage.dialog.refuse()
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


@in_parts(4)
async def test_a_thousand_openings_under_typing_approve_nothing(part: int) -> None:
    answered = []
    async with asked() as stage:
        for seed in range(part, 1000, 4):
            # as new: only the frame around it is not built a thousand times
            stage.dialog._arming = Arming()
            stage.dialog._decided = anyio.Event()
            stage.dialog._shown()
            for event in stream(seed, stage.app.now):
                stage.app.now = max(stage.app.now, event.time)
                stage.dialog.on_key(event)
            answered.append(stage.dialog._decided.is_set())
            stage.app.now += 10
        assert answered == [False] * 250
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
            dialog.refuse()
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
