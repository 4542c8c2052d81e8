"""The model picker: it fills as providers answer, narrows, and gives back one model."""

from pathlib import Path

import anyio
import pytest
from textual.widgets import OptionList

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime
from tests.tui.svg import SIZES, SvgSnapshot

TEXT = frozenset({"text"})
SEES_AND_THINKS = ModelCapability(TEXT | {"image"}, TEXT, frozenset({"tool_use", "thinking"}))
OLLAMA = Listing(
    provider="local",
    label="Ollama",
    models=(
        ModelInfo(
            name="qwen3:8b",
            size_bytes=5_200_000_000,
            context=32768,
            loaded=True,
            capability=ModelCapability(TEXT, TEXT, frozenset({"tool_use", "thinking"})),
        ),
        ModelInfo(
            name="llava:13b",
            size_bytes=8_000_000_000,
            context=4096,
            capability=ModelCapability(TEXT | {"image"}, TEXT),
        ),
        ModelInfo(
            name="house-model",
            capability=ModelCapability(TEXT, TEXT, frozenset({"tool_use"})),
            reported=frozenset(),
            chosen=frozenset({"tools"}),
        ),
        ModelInfo(
            name="qwen3-vl:4b", size_bytes=3_300_000_000, context=262_144, assumed=SEES_AND_THINKS
        ),
        ModelInfo(name="[/red]\x1b[2J"),
    ),
)
HERE = Listing(
    provider="embedded",
    label="On this machine",
    models=(ModelInfo(name="SmolLM2-135M-Instruct-Q4_1", size_bytes=98_000_000, context=4096),),
)
DOWN = Listing(
    provider="lmstudio",
    label="LM Studio",
    problem=AIError(ErrorCode.SERVICE_UNAVAILABLE, "It does not answer at localhost:1234."),
)


def runtime(*listings: Listing) -> ScriptedRuntime:
    return ScriptedRuntime(
        catalog=ScriptedCatalog(*(listings or (OLLAMA, HERE, DOWN))),
        recents=["embedded://SmolLM2-135M-Instruct-Q4_1"],
    )


async def opened(stage: Stage) -> OptionList:
    await stage.pilot.press("ctrl+l")
    await stage.settle()
    return stage.app.screen.query_one(OptionList)


async def test_it_lists_every_provider_and_says_which_failed(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        shown = stage.screen_text
        for words in ("Recent", "Ollama", "qwen3:8b", "5.2 GB", "32k", "tools thinking", "vision"):
            assert words in shown
        assert "LM Studio: It does not answer at localhost:1234." in shown
        assert "[/red]⟦U+001B⟧[2J" in shown


async def test_a_provider_that_is_late_delays_no_other(tmp_path: Path) -> None:
    scripted = runtime(HERE)
    late = anyio.Event()
    scripted.catalog = ScriptedCatalog(HERE, OLLAMA, known=(HERE,))
    scripted.catalog.late["local"] = late
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        assert "SmolLM2" in stage.screen_text
        assert "Loading models…" in stage.screen_text
        await stage.pilot.press("down")
        late.set()
        await stage.settle()
        assert "qwen3:8b" in stage.screen_text.replace("qwen3:8b · local", "")
        assert "Asking" not in stage.screen_text


async def test_a_name_that_a_server_lists_twice_is_shown_once(tmp_path: Path) -> None:
    models = tuple(ModelInfo(name=name) for name in ("one", "two", "one"))
    twice = Listing(provider="local", label="Ollama", models=models)
    async with staged(tmp_path / "config.toml", runtime(twice)) as stage:
        listed = await opened(stage)
        named = [option.id for option in listed.options if option.id is not None]
        assert named == ["Ollama/local://one", "Ollama/local://two"]


async def test_escape_keeps_the_model(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.client.conversation.model == "local://qwen3:8b"
        assert len(stage.app.screen_stack) == 1


async def test_enter_takes_the_marked_one(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        await stage.pilot.press("down", "down", "enter")
        await stage.settle()
        assert stage.client.conversation.model == "local://llava:13b"
        assert stage.runtime.catalog.described[-1] == ModelRef("local", "llava:13b")


async def test_nothing_that_matches_is_reported_and_enter_does_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(OLLAMA)) as stage:
        await opened(stage)
        await stage.type("zzz")
        await stage.settle()
        assert "No model matches 'zzz'." in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert len(stage.app.screen_stack) == 2


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=size) as stage:
        await opened(stage)
        await stage.settle()
        svg_snapshot(stage.app)


async def test_f5_looks_again_for_engines_and_models(tmp_path: Path) -> None:
    running = runtime(OLLAMA)
    async with staged(tmp_path / "config.toml", running) as stage:
        listed = await opened(stage)
        rows = listed.option_count
        running.catalog.late["local"] = anyio.Event()
        await stage.pilot.press("f5")
        await stage.settle()
        assert running.catalog.forgotten == 1
        assert listed.option_count == 0
        running.catalog.late["local"].set()
        await stage.settle()
        assert listed.option_count == rows
