"""Screens close although their workers get an answer meanwhile, and draw no more than changed."""

import asyncio

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widgets import Label, Static

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


class Ruled(Static):
    """Notes which of its rows are rendered."""

    def __init__(self) -> None:
        super().__init__("\n".join("abc"))
        self.rendered: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.rendered.append(y)
        return super().render_line(y)


class Beside(StyledOnce[None]):
    """One widget with three rows, and one beside the second of them."""

    CSS = """
    Ruled { width: 2; }
    Label { width: 3; margin-top: 1; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Ruled()
            yield Label("old")


async def test_a_widget_is_drawn_with_its_rows_only_and_the_screen_is_as_ever() -> None:
    app: App[None] = App()
    async with app.run_test(size=(8, 4)) as pilot:
        screen = Beside()
        await app.push_screen(screen)
        await pilot.pause()
        ruled, compositor = screen.query_one(Ruled), screen._compositor
        screen.query_one(Label).update("new")
        await pilot.pause()
        compositor._dirty_regions = {screen.query_one(Label).region}
        ruled._styles_cache.clear()
        ruled.rendered.clear()
        drawn = compositor.render_partial_update()
        assert drawn is not None
        assert ruled.rendered == [1]
        row = "".join(strip.text for strip in drawn.chops[1].values() if strip is not None)
        assert row == "b new   "
        whole = [strip.text for strip in compositor.render_strips()]
        assert whole == ["a       ", "b new   ", "c       ", "        "]
