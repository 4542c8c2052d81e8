"""Screens close although their workers get an answer meanwhile."""

import asyncio

from textual.app import App, ComposeResult
from textual.widgets import Static

from ollm_tui.tui.widgets import StyledOnce


class Leaving(Static):
    """A widget that gives a worker its answer while it closes."""

    def __init__(self, answer: asyncio.Event) -> None:
        super().__init__()
        self._answer = answer

    def on_unmount(self) -> None:
        self._answer.set()


class Asking(StyledOnce[None]):
    """A screen whose worker shows an answer on a widget."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = asyncio.Event()
        self.has_shown = False

    def compose(self) -> ComposeResult:
        yield Leaving(self.answer)

    def on_mount(self) -> None:
        self.run_worker(self._show())

    async def _show(self) -> None:
        await self.answer.wait()
        while self.query(Leaving):
            await asyncio.sleep(0)
        self.has_shown = True
        self.query_one(Leaving).update("answer")


async def test_a_worker_that_is_answered_while_its_screen_closes_looks_for_no_widget() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        screen = Asking()
        await app.push_screen(screen)
        await pilot.pause()
        await app.pop_screen()
        await pilot.pause()
    assert screen.answer.is_set()
    assert not screen.has_shown
