"""A call in a dialog in front of someone who types."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolCall, ToolEffect
from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision

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


SIXTY_FIVE: JsonObject = {"content": "\n".join(f"line {number}" for number in range(64))}
"""Sixty-five rows with the name of the argument."""
