"""The chat screen while the runtime opens, without a model, and with settings that do not fit."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual import events

from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.chat.screen import ChatScreen
from ollm_tui.tui.models.picker import ModelPicker
from ollm_tui.tui.painters import parser
from tests.tui.screens import RecordingOpener, Stage, is_ready, services, staged
from tests.tui.scripted import FIRST, ScriptedClient, ScriptedRuntime

DOWN = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.", hint="Start it.")


async def test_a_prompt_before_the_runtime_is_there_waits(config: Path) -> None:
    opened = anyio.Event()
    async with staged(config, opened=opened) as stage:
        await stage.ask("early")
        assert "1 queued" in stage.screen_text
        assert stage.runtime.clients == []
        opened.set()
        with anyio.fail_after(5):
            while not stage.runtime.clients or not stage.client.prompts:
                await stage.pilot.pause(0.005)
        assert stage.client.prompts == ["early"]
        stage.client.answer("late")
        await stage.settle()
        assert "late" in stage.screen_text


async def test_a_command_before_the_runtime_is_there_leaves_the_queue_when_it_runs(
    config: Path,
) -> None:
    opened = anyio.Event()
    async with staged(config, ScriptedRuntime(all_tools=()), opened=opened) as stage:
        await stage.ask("/tools")
        assert "1 queued" in stage.screen_text
        opened.set()
        with anyio.fail_after(5):
            while "No tools are available." not in stage.shown:
                await stage.pilot.pause(0.005)
        await stage.settle()
        assert "queued" not in stage.screen_text


async def test_no_model_says_what_was_tried_and_what_to_do(config: Path) -> None:
    first = replace(FIRST, ref=None, reason="no model was found", with_models=())
    async with staged(config, ScriptedRuntime(first=first)) as stage:
        assert "No models found." in stage.screen_text
        assert "LM Studio" in stage.screen_text
        assert "ollm models starter" in stage.screen_text


async def test_a_key_that_finds_nothing_to_do_says_so_beside_the_input_only(config: Path) -> None:
    async with staged(config) as stage:
        await stage.pilot.press("f2")
        await stage.settle()
        assert "No other model was used recently" in stage.screen_text
        assert "No other model" not in stage.shown


@pytest.mark.parametrize("is_early", [False, True])
async def test_a_prompt_without_a_model_comes_back_to_the_input(
    config: Path, is_early: bool
) -> None:
    opened = anyio.Event()
    runtime = ScriptedRuntime(
        first=replace(FIRST, ref=None, reason=""),
        make_client=lambda: ScriptedClient(Conversation()),
    )
    async with staged(config, runtime, opened=opened if is_early else None) as stage:
        await stage.ask("hello")
        opened.set()
        with anyio.fail_after(5):
            while stage.chat.composer.value != "hello":
                await stage.pilot.pause(0.005)
        await stage.settle()
        assert "No model is selected." in stage.screen_text
        assert "Press Ctrl+L to choose one." in stage.screen_text
        assert "● ready" in stage.screen_text


async def test_settings_problems_are_reported(config: Path) -> None:
    async with staged(config, ScriptedRuntime(problems=("themme is no setting.",))) as stage:
        assert "themme is no setting." in stage.screen_text


async def test_an_unknown_theme_is_reported_and_the_default_is_used(config: Path) -> None:
    async with staged(config, theme="nosuch") as stage:
        assert stage.app.theme == "dusk"
        assert "none of that name" in stage.screen_text


async def test_a_runtime_that_cannot_be_opened_is_reported_and_nothing_is_lost(
    config: Path,
) -> None:
    opened = anyio.Event()
    async with staged(config, ScriptedRuntime(refuses=DOWN), opened=opened) as stage:
        await stage.ask("early")
        opened.set()
        with anyio.fail_after(5):
            while "does not answer" not in stage.screen_text:
                await stage.pilot.pause(0.005)
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.value == "early"


async def test_what_is_typed_before_there_is_an_input_arrives_in_order(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_screen = OllmApp.get_default_screen

    def type_first(app: OllmApp) -> ChatScreen:
        for letter in "abc":
            app.post_message(events.Key(letter, letter))
        return make_screen(app)

    monkeypatch.setattr(OllmApp, "get_default_screen", type_first)
    app = OllmApp(services(ScriptedRuntime(), config))
    async with app.run_test() as pilot:
        await pilot.press("d")
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        assert screen.composer.value == "abcd"


async def test_a_persons_own_keys_count_and_conflicts_are_reported(config: Path) -> None:
    own = {"chat.models": "f4", "chat.help": "ctrl+n"}
    app = OllmApp(replace(services(ScriptedRuntime(), config), keymap=own))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        with anyio.fail_after(5):
            while not is_ready(screen):
                await pilot.pause(0.005)
        await pilot.press("f4")
        await pilot.pause()
        assert isinstance(app.screen, ModelPicker)
        notes = [block.source.text for block in screen.transcript.block_list.blocks]
        assert notes[0] == "[keymap] gives Ctrl+N to both chat.new and chat.help."


OWN_KEYS = {
    "chat.stop": "alt+s",
    "chat.back": "f7",
    "chat.leave": "f11",
    "chat.interrupt": "f12",
    "composer.history_previous": "ctrl+up",
}


async def test_questions_name_a_persons_own_keys(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = ScriptedRuntime()
    app = OllmApp(replace(services(scripted, config), keymap=OWN_KEYS))
    async with app.run_test(size=(120, 30)) as pilot:
        stage = Stage(app, pilot, scripted, RecordingOpener())
        with anyio.fail_after(5):
            while not is_ready(stage.chat):
                await pilot.pause(0.005)
        hints: list[str] = []
        monkeypatch.setattr(stage.chat.hints, "flash", lambda text, _seconds: hints.append(text))
        monkeypatch.setattr(stage.chat.hints, "stand", hints.append)
        await stage.ask("one")
        await stage.ask("two")
        await pilot.press("f11")
        stage.client.answer("first")
        await stage.settle()
        stage.client.answer("second")
        await stage.settle()
        await pilot.press("f12", "f7", "f7")
        await stage.settle()
        assert [hint for hint in hints if hint] == [
            "1 queued · Ctrl+Up edits it · Alt+S returns it to the editor: two",
            "An answer is in progress. Press F11 again to quit",
            "Press F12 again to quit",
            "Press F7 again to edit your last message",
            "Editing an earlier message · Enter sends it · F7 cancels",
        ]


async def test_without_animations_nothing_glides(config: Path) -> None:
    for is_animated in (True, False):
        app = OllmApp(services(ScriptedRuntime(), config), is_animated=is_animated)
        async with app.run_test():
            assert (app.animation_level == "none") is not is_animated


async def test_what_an_answer_needs_is_loaded_before_the_first_one(config: Path) -> None:
    parser.cache_clear()
    async with staged(config):
        with anyio.fail_after(20):
            while parser.cache_info().currsize < 2:  # with formulas, and without
                await anyio.sleep(0.002)
