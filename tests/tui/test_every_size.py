"""No size of the terminal ends the app: every screen and dialog, at start and by resizing."""

import random
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from textual.content import Content

from ollm_tui.tui import crash
from tests.support.seeds import in_parts, sampled
from tests.tui.screens import staged
from tests.tui.size_scenes import SCENES, every_runtime

pytestmark = pytest.mark.slow

SEED = 20261122
TINY = [(width, height) for width in range(1, 13) for height in range(1, 13)]
SOME_TINY = [(width, height) for width in range(1, 13) for height in (1, 2, 3, 4, 6, 9)]
NOTABLE = [(7, 5), (8, 5), (1, 1), (1000, 300), (80, 24)]


def sample(name: str) -> list[tuple[int, int]]:
    """Every width up to 12 in some order and height, and sizes between that and the largest."""
    chance = random.Random(f"{SEED} {name}")
    narrow = [(width, chance.randint(1, 12)) for width in range(1, 13)]
    wider = [(chance.randint(1, 300), chance.randint(1, 100)) for _ in range(2)]
    return chance.sample(narrow, len(narrow)) + wider + NOTABLE


async def resized_through(name: str, sizes: list[tuple[int, int]], folder: Path) -> None:
    """Bring a screen up, and draw all of it at each size; a pilot raises what ends the app."""
    async with staged(folder / "config.toml", every_runtime()) as stage:
        await SCENES[name](stage)
        before = stage.app.screen
        for size in sizes:
            await stage.pilot.resize_terminal(*size)
            rows = stage.app.screen._compositor.render_strips()
            assert len(rows) == size[1]
            assert stage.app._exception is None, f"{name} at {size}"
        assert stage.app.screen is before


@pytest.mark.parametrize("name", sampled(SCENES, 2))
async def test_a_screen_lives_through_sizes_of_all_kinds(name: str, tmp_path: Path) -> None:
    await resized_through(name, sample(name), tmp_path)


@pytest.mark.slow_one_in(4)
@pytest.mark.parametrize("name", SCENES)
async def test_a_screen_lives_through_tiny_and_large_sizes(name: str, tmp_path: Path) -> None:
    chance = random.Random(f"{SEED} large {name}")
    sizes = [(chance.randint(1, 1000), chance.randint(1, 300)) for _ in range(8)]
    await resized_through(name, [*SOME_TINY, *sizes, (1, 300), (1000, 1)], tmp_path)


@pytest.mark.slow
@in_parts(4)
async def test_messages_live_through_all_tiny_sizes(tmp_path: Path, part: int) -> None:
    sizes = random.Random(SEED).sample(TINY, len(TINY))
    await resized_through("messages", sizes[part::4], tmp_path)


@pytest.mark.parametrize("size", [(1, 1), (2, 6), (4, 2), (6, 9), (7, 5), (8, 5)])
async def test_the_app_starts_at_any_size_and_can_be_used_later(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", every_runtime(), size=size) as stage:
        await stage.type("hello")
        await stage.pilot.resize_terminal(80, 24)
        await stage.settle()
        assert "hello" in stage.screen_text


@in_parts(3)
async def test_a_storm_of_sizes_leaves_the_last_one_drawn(tmp_path: Path, part: int) -> None:
    chance = random.Random(SEED + part)
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES["messages"](stage)
        for _ in range(20):
            size = chance.choice(TINY) if chance.random() < 0.7 else (chance.randint(1, 400), 50)
            await stage.pilot.resize_terminal(*size)
        await stage.pilot.resize_terminal(80, 24)
        await stage.settle()
        assert stage.app.screen.size == (80, 24)
        assert "Ask anything" in stage.screen_text
        assert "ready" in stage.screen_text


def test_the_stock_code_still_cannot_wrap_where_there_is_no_room() -> None:
    # When this fails Textual has mended it: drop `_wrap_with_room`.
    with (
        patch.object(Content, "_wrap_and_format", crash._STOCK_WRAP),
        pytest.raises(ValueError, match="must not be zero"),
    ):
        Content("word").wrap(0)


@pytest.mark.parametrize("width", range(-3, 4))
@pytest.mark.parametrize("options", [{}, {"no_wrap": True}, {"line_pad": 1}, {"overflow": "clip"}])
def test_text_is_wrapped_in_any_width(width: int, options: dict[str, Any]) -> None:
    crash.mend_textual()
    crash.mend_textual()
    for text in ("word", "日本語の文字", "a b\tc\n👩‍👩‍👧", ""):
        assert Content(text)._wrap_and_format(width, **options)
