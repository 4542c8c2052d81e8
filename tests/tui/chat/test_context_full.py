"""What takes the room, and the ways out on their keys."""

from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tokens.limits import DropAttachments, RaiseWindow, SendEverything
from ollm_tui.tui.chat.compacting.context import (
    ContextFull,
    context_lines,
    keyed_remedies,
    remedies_content,
)
from ollm_tui.tui.dialogs.armed import WAITING
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import FIGURES, leave_out
from tests.tui.svg import SIZES, SvgSnapshot


async def choose(stage: Stage, key: str) -> None:
    """Press a key once the dialog listens."""
    dialog = stage.app.screen
    assert isinstance(dialog, ContextFull)
    dialog._arming._armed_at = 0.0
    await stage.pilot.press(key)
    await stage.settle()


async def blocked(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    text = "The conversation has about 4,310 tokens; the model holds 4,096."
    stage.client.fail(AIError(ErrorCode.CONTEXT_LENGTH_EXCEEDED, text))
    await stage.settle()


async def test_a_blocked_prompt_names_the_key_and_the_key_shows_the_ways(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), size=(100, 30)) as stage:
        await blocked(stage)
        assert "Press F6 to make room." in stage.screen_text
        await stage.pilot.press("f6")
        await stage.settle()
        for words in (
            "About 4,310 of 4,096 tokens (105 %)",
            "Window size: reported by the engine.",
            "what tools gave",
            "l  Leave out the 2 oldest questions (frees 2,100 tokens)",
            "w  Load the model with a window of 8,192 tokens (num_ctx)",
            "n  Start a new chat",
        ):
            assert words in stage.screen_text


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("l", "The oldest 2 questions are no longer sent"),
        ("w", "The model loads with a window of 8,192 tokens"),
    ],
)
async def test_a_way_out_is_taken_and_the_prompt_asked_again(
    tmp_path: Path, key: str, message: str
) -> None:
    scripted = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await blocked(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        await choose(stage, key)
        assert scripted.ways_taken == [keyed_remedies(scripted.figures.ways)[key]]
        assert message in stage.shown
        assert stage.client.prompts == ["Why is the sky blue?", None]


async def test_s_sends_again_what_was_left_out_and_asks_nothing(tmp_path: Path) -> None:
    scripted = ScriptedRuntime(figures=replace(FIGURES, ways=(SendEverything(),)))
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await blocked(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        assert "s  Send everything again" in stage.screen_text
        await choose(stage, "s")
        assert scripted.ways_taken == [SendEverything()]
        assert "The whole chat is sent again." in stage.shown
        assert stage.client.prompts == ["Why is the sky blue?"]


@pytest.mark.parametrize("key", ["escape", "enter", "d", "x"])
async def test_no_other_key_does_anything(tmp_path: Path, key: str) -> None:
    scripted = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await stage.type("/context")
        await stage.pilot.press("enter", "enter")
        await stage.settle()
        await choose(stage, key)
        assert scripted.ways_taken == []
        assert len(stage.runtime.clients) == 1


async def test_n_begins_a_new_chat(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime()) as stage:
        await blocked(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        await choose(stage, "n")
        assert len(stage.runtime.clients) == 2
        assert "Why is the sky" not in stage.shown


@pytest.mark.parametrize("key", ["n", "l", "w"])
async def test_a_letter_that_was_meant_for_the_input_chooses_nothing(
    tmp_path: Path, key: str
) -> None:
    scripted = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await blocked(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        await stage.pilot.press(key, key)
        await stage.settle()
        assert isinstance(stage.app.screen, ContextFull)
        assert WAITING in stage.screen_text
        assert (scripted.ways_taken, len(stage.runtime.clients)) == ([], 1)


def test_figures_are_written_as_what_they_are() -> None:
    lines = context_lines(replace(FIGURES, used=100, limit=200, estimated=False, source="assumed"))
    assert lines[:2] == [
        "100 of 200 tokens (50 %)",
        "Window size: assumed, not reported.",
    ]
    shown = remedies_content(
        keyed_remedies([leave_out(1, 10), RaiseWindow(4096), DropAttachments(3, 900, False)])
    ).plain
    assert "l  Leave out the oldest question and its answer (frees 10 tokens)" in shown
    assert "d  Leave out 3 attachments (about 900 tokens, which is not enough by itself)" in shown


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), size=size) as stage:
        await blocked(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        dialog = stage.app.screen
        assert isinstance(dialog, ContextFull)
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await stage.settle()
        svg_snapshot(stage.app)
