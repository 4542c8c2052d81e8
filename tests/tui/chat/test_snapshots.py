"""How the chat looks in each state; `pytest --snapshot-update` draws the pictures anew."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.hostile.payloads import FORGED
from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text, thinking
from tests.tui.svg import SIZES, SvgSnapshot

ANSWER = """At noon sunlight crosses **little air**, so only short waves are scattered.

- violet and blue scatter most
- red scatters least

| angle | path | colour |
|---|---:|---|
| 90° | 1 | blue |
| 5° | 10 | red |

```python
def path(angle: float) -> float:
    return 1 / math.sin(angle)
```
"""
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


async def start(stage: Stage) -> None:
    await stage.settle()


async def streaming(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    stage.client.give(text(ANSWER))


async def thinking_open(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    stage.client.give(thinking("The person asks about scattering.\nShort waves scatter more."))


async def folded(stage: Stage) -> None:
    await thinking_open(stage)
    await stage.settle()
    controller = stage.controller
    # the one figure that comes from the clock
    controller.presenter._open = dict.fromkeys(controller.presenter._open, 0.0)
    controller.presenter._clock = lambda: 3.2
    stage.client.give(text(ANSWER), finish())


async def failed(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    hint = "Start it with `ollama serve`."
    message = "Ollama does not answer at localhost:11434."
    stage.client.fail(AIError(ErrorCode.SERVICE_UNAVAILABLE, message, hint=hint))


async def forged(stage: Stage) -> None:
    await stage.ask("Draw a dialog.")
    stage.client.answer(FORGED)


async def queued(stage: Stage) -> None:
    await streaming(stage)
    await stage.ask("And at dusk?")


async def helped(stage: Stage) -> None:
    await stage.pilot.press("f1")


async def palette(stage: Stage) -> None:
    await stage.pilot.press("ctrl+p")


STATES: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "start": start,
    "streaming": streaming,
    "thinking": thinking_open,
    "folded": folded,
    "error": failed,
    "forged": forged,
    "queued": queued,
    "help": helped,
    "palette": palette,
}


@sizes
@pytest.mark.parametrize("state", STATES)
async def test_the_chat_looks_as_drawn(
    state: str, size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await STATES[state](stage)
        await stage.settle()
        await stage.settle()
        svg_snapshot(stage.app)


@pytest.mark.parametrize("theme", ["contrast", "ember", "paper", "terminal"])
async def test_every_theme_looks_as_drawn(
    theme: str, svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", theme=theme) as stage:
        await folded(stage)
        await stage.settle()
        svg_snapshot(stage.app)


@pytest.mark.parametrize("theme", ["terminal", "dusk"])
async def test_without_colours_everything_can_still_be_distinguished(
    theme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged(tmp_path / "config.toml", theme=theme) as stage:
        await folded(stage)
        await stage.settle()
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        segments = [
            segment
            for strip in stage.app.screen._compositor.render_strips()
            for segment in strip
            if segment.text.strip() and segment.style is not None
        ]
        for segment in segments:
            style = segment.style
            assert style is not None
            assert style.color is None or style.color.is_default
            assert style.bgcolor is None or style.bgcolor.is_default
        marked = [one.text for one in segments if one.style is not None and one.style.underline]
        assert any("New chat" in text for text in marked)
