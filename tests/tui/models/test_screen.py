"""The models screen: what it lists, how it narrows and sorts, and what it says when it is empty."""

from pathlib import Path

import anyio
import pytest
from textual.widgets import Input

from ollm_tui.library.machine import Machine
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from tests.tui.models.scenes import DOWN, HERE, OLLAMA, arrived, info, opened, page, runtime
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog
from tests.tui.svg import SIZES, SvgSnapshot

BOTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
MANY = Listing(
    provider="many",
    label="Many",
    models=tuple(info(f"model-{number:04}", number + 1) for number in range(300)),
)


def rows(stage: Stage) -> list[str]:
    """Give the first words of the rows in view."""
    lines = stage.screen_text.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("  Name"))
    found = []
    for line in lines[head + 1 :]:
        if not line.strip():
            break
        found.append(line[2:].split()[0])
    return found


async def test_it_lists_every_model_of_every_provider(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        shown = stage.screen_text
        for words in ("Ollama", "vLLM", "5.2 GB", "Q4_K_M", "32k", "≤128k", "2026-11-02"):
            assert words in shown
        for words in ("chat tools thinking", "chat vision", "embedding", "chat? tools?", "● GPU"):
            assert words in shown
        assert "LM Studio does not answer at localhost:1234. Start its server" in shown
        assert "qwen3:8b · 5.1 GB, 100 % GPU · 4 min left" in shown
        assert "[/red]⟦U+001B⟧" in shown


async def test_what_fits_this_machine_is_a_column_where_it_is_known(tmp_path: Path) -> None:
    scripted = runtime()
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        ends = {line[2:6]: line.split()[-1] for line in stage.screen_text.splitlines()[5:12]}
        assert (ends["llav"], ends["llam"], ends["Smol"]) == ("GPU", "big", "GPU")
        # one is in memory already, one is on another machine
        assert (ends["qwen"], ends["meta"]) == ("2026-11-02", "tools?")
        await stage.pilot.press("escape")
        scripted.this_machine = Machine()
        await opened(stage)
        assert " Fit" not in stage.screen_text


async def test_the_command_and_the_key_open_it_and_escape_goes_back(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await stage.ask("/models")
        await arrived(stage)
        await stage.pilot.press("escape")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1
        await opened(stage)
        await stage.pilot.press("f3")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_enter_chats_with_the_marked_model_in_the_open_chat(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await stage.ask("hello")
        stage.client.answer("Good day.")
        await stage.settle()
        await opened(stage)
        await stage.pilot.press("down", "enter")
        await stage.settle()
        assert stage.client.conversation.model == "local://llava:13b"
        assert len(stage.runtime.clients) == 1
        assert "Good day." in stage.shown


async def test_what_gives_no_text_cannot_be_chatted_with(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        await opened(stage)
        page(stage).filter.value = "nomic"
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.settle()
        assert "nomic-embed-text:latest gives no text" in stage.screen_text
        assert "Enter chat" not in stage.screen_text


async def test_a_model_that_lacks_a_part_is_seen_to_and_says_so(tmp_path: Path) -> None:
    half = ModelInfo(name="half", details={"problem": "part 3 of 4 is missing"})
    listing = Listing(provider="embedded", label="Built-in", models=(half,))
    async with staged(tmp_path / "config.toml", runtime(listing), size=(80, 24)) as stage:
        await opened(stage)
        assert "unusable" in stage.screen_text
        assert "chat?" not in stage.screen_text
        assert "Enter chat" not in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert "half cannot be used: part 3 of 4 is missing." in stage.screen_text


async def test_what_is_typed_narrows_the_list(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(OLLAMA), size=(120, 40)) as stage:
        screen = await opened(stage)
        screen.filter.value = "thinking tools"
        await stage.settle()
        assert rows(stage) == ["qwen3:8b"]
        assert "1 of 5 models" in stage.screen_text
        screen.filter.value = "vision thinking"
        await stage.settle()
        assert screen.table.marked is None
        assert "No model matches 'vision thinking'." in stage.screen_text
        await stage.pilot.press("enter", "f8", "f2", "down", "ctrl+o")
        await stage.settle()
        assert stage.app.screen is screen


async def test_a_column_sorts_by_key_and_by_click(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        screen = await opened(stage)
        await stage.pilot.press("ctrl+o", "ctrl+o", "ctrl+o")
        await stage.settle()
        assert "Size ▼" in stage.screen_text
        assert "7 models, by size" in stage.screen_text
        assert rows(stage)[0].startswith("llama3.3")
        # what has no size comes last, whichever way
        assert rows(stage)[-1].startswith("meta-llama/")
        await stage.pilot.press("ctrl+r")
        await stage.settle()
        assert "Size ▲" in stage.screen_text
        assert rows(stage)[0].startswith("[/red]")
        assert rows(stage)[-1].startswith("meta-llama/")
        head = stage.screen_text.splitlines()[screen.table.region.y]
        await stage.pilot.click(screen.table, offset=(head.index("Modified"), 0))
        await stage.settle()
        assert rows(stage)[0].startswith("SmolLM2")
        await stage.pilot.click(screen.table, offset=(head.index("Modified"), 0))
        await stage.settle()
        assert rows(stage)[0].startswith("nomic")


async def test_a_click_marks_and_a_second_one_chats(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        screen = await opened(stage)
        await stage.pilot.click(screen.table, offset=(5, 2))
        await stage.settle()
        assert screen.table.marked is not None
        assert screen.table.marked.ref == ModelRef("local", "llava:13b")
        await stage.pilot.click(screen.table, offset=(5, 2), times=2)
        await stage.settle()
        assert stage.client.conversation.model == "local://llava:13b"


async def test_the_mark_stays_on_its_model_while_lists_come(tmp_path: Path) -> None:
    scripted = runtime(MANY)
    scripted.catalog = ScriptedCatalog(HERE, MANY, known=(MANY,))
    scripted.catalog.late["embedded"] = anyio.Event()
    async with staged(tmp_path / "config.toml", scripted, size=(80, 24)) as stage:
        screen = await opened(stage)
        await stage.pilot.press("pagedown", "pagedown", "down")
        await stage.settle()
        marked, top = screen.table.marked, screen.table.scroll_offset.y
        assert marked is not None
        assert top > 0
        assert "Loading models…" in stage.screen_text
        scripted.catalog.late["embedded"].set()
        await stage.settle()
        assert "Asking" not in stage.screen_text
        assert "301 models" in stage.screen_text
        assert screen.table.marked is not None
        assert screen.table.marked.ref == marked.ref
        assert marked.name in stage.screen_text


async def test_the_keys_reach_both_ends_and_the_wheel_scrolls(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(MANY)) as stage:
        screen = await opened(stage)
        await stage.pilot.press("ctrl+end")
        await stage.settle()
        assert "model-0299" in stage.screen_text
        await stage.pilot.press("up", "ctrl+home")
        await stage.settle()
        assert "model-0000" in stage.screen_text
        assert screen.table.marked is not None
        assert screen.table.marked.name == "model-0000"
        screen.table.scroll_down(animate=False)
        await stage.settle()
        assert screen.table.scroll_offset.y > 0
        assert screen.table.marked.name == "model-0000"


async def test_looking_again_keeps_the_old_list_meanwhile(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await opened(stage)
        scripted.catalog.late["local"] = anyio.Event()
        await stage.pilot.press("f5")
        await stage.settle()
        assert scripted.catalog.forgotten == 1
        assert "llava:13b" in stage.screen_text
        assert "Loading models…" in stage.screen_text
        scripted.catalog.late["local"].set()
        await stage.settle()
        assert "Asking" not in stage.screen_text


async def test_ctrl_c_clears_the_filter_first(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime()) as stage:
        screen = await opened(stage)
        screen.filter.value = "llava"
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert screen.filter.value == ""
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1


async def test_no_width_breaks_it(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 24)) as stage:
        screen = await opened(stage)
        for width, count in ((20, 1), (60, 4), (80, 5), (200, 9)):
            await stage.pilot.resize_terminal(width, 24)
            await stage.settle()
            assert len(screen.table.columns) == count, width
            assert "qwen3" in stage.screen_text


async def test_what_a_marked_model_can_do_is_asked_where_no_list_says_it(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        screen = await opened(stage)
        unknown = ModelRef("local", "llama3.3:70b-instruct-q4_K_M")
        before = len(scripted.catalog.described)
        screen.table.mark_row(3)
        assert screen.table.marked is not None
        assert screen.table.marked.ref == unknown
        with anyio.fail_after(10):
            while len(scripted.catalog.described) == before:
                await stage.pilot.pause(0.02)
        await stage.pilot.press("up", "down", "f5")
        await stage.settle()
        assert scripted.catalog.described[before:] == [unknown]


async def test_help_and_palette_name_the_keys_of_this_screen(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=(120, 40)) as stage:
        await opened(stage)
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        assert "Unload" in stage.screen_text
        stage.app.screen.query_one(Input).value = "next column"
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.settle()
        assert "Name ▲" in stage.screen_text
        await stage.pilot.press("f1")
        await stage.settle()
        assert "Help" in stage.screen_text
        page = stage.screen_text  # the keys of this screen come first
        assert page.index("Chat with the selected model") < page.index("Send the message")


@BOTH
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=size) as stage:
        await opened(stage)
        await stage.settle()
        svg_snapshot(stage.app)


@BOTH
async def test_narrowed_and_sorted_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", runtime(), size=size) as stage:
        await opened(stage)
        page(stage).filter.value = "lla"
        page(stage).filter.cursor_position = 3
        await stage.pilot.press("ctrl+o", "ctrl+o", "ctrl+o")
        await stage.settle()
        svg_snapshot(stage.app)


@BOTH
async def test_with_nothing_installed_it_says_how_to_get_a_model(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    empty = Listing(provider="embedded", label="On this machine")
    scripted = runtime(empty)
    scripted.manager.loaded.clear()
    async with staged(tmp_path / "config.toml", scripted, size=size) as stage:
        await opened(stage)
        assert "No models are installed." in stage.screen_text
        await stage.settle()
        svg_snapshot(stage.app)


@BOTH
async def test_with_every_server_down_it_says_what_to_do(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    scripted = runtime(DOWN)
    scripted.manager.loaded.clear()
    async with staged(tmp_path / "config.toml", scripted, size=size) as stage:
        await opened(stage)
        assert "No models available." in stage.screen_text
        await stage.settle()
        svg_snapshot(stage.app)
