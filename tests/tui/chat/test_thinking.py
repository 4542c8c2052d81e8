"""/think as a person sees it, and thinking that is not to be shown."""

from dataclasses import replace
from pathlib import Path

from ollm_tui.protocol.chat_events import Withdrawn
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import Listing
from tests.tui.screens import Stage, staged, within
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime, finish, text, thinking

QWEN = ModelInfo(name="qwen3:8b")


async def think(stage: Stage, words: str, answer: str) -> None:
    await stage.send(f"/think {words}".strip())
    with within(10):  # families are read in a thread
        while answer not in stage.shown:
            await stage.pilot.pause(0.002)


async def test_think_knows_the_model_and_hidden_thinking_stays_folded(config: Path) -> None:
    listing = Listing(provider="local", label="Ollama", models=(QWEN,))
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(listing))
    async with staged(config, runtime) as stage:
        await think(
            stage, "", "This model takes off, on, deep; /think none goes back to its default."
        )
        await think(stage, "last", "does not know the thinking mode 'last'. Available: off, on,")
        await think(stage, "high", "This model has no levels of thinking. Available: off, on, deep")
        assert stage.client.conversation.should_think is None
        await think(stage, "off", "Thinking from the next answer: off.")
        assert stage.client.conversation.should_think is False
        await stage.ask("2+2?")
        stage.client.give(replace(thinking("Two and two."), hidden=True), text("Four."), finish())
        await stage.settle()
        assert "Four." in stage.screen_text
        assert "Two and two." not in stage.screen_text
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert "Two and two." in stage.screen_text


async def test_thinking_that_was_the_answer_is_shown_once_as_the_answer(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("2+2?")
        first = text("It makes **four**.", "answer-2")
        stage.client.give(thinking("It makes **four**."))
        await stage.settle()
        assert "**four**" in stage.screen_text
        stage.client.give(Withdrawn(blocks=("thinking-1",), turn=1), first, finish())
        await stage.settle()
        assert stage.screen_text.count("It makes four.") == 1
        assert "**four**" not in stage.screen_text
        assert "thought" not in stage.screen_text
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert stage.screen_text.count("It makes") == 1


async def test_an_answer_that_was_thinking_is_shown_once_as_thinking(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("2+2?")
        stage.client.give(text("Two and two."))
        await stage.settle()
        stage.client.give(
            Withdrawn(blocks=("answer-1",), turn=1),
            replace(thinking("Two and two."), block="thinking-2"),
            text("Four.", "answer-3"),
            finish(),
        )
        await stage.settle()
        assert "Four." in stage.screen_text
        assert "Two and two." not in stage.screen_text
        await stage.pilot.press("ctrl+t")
        await stage.settle()
        assert stage.screen_text.count("Two and two.") == 1
