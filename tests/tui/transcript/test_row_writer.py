"""What is written straight to the terminal, and when Textual draws instead."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Static

from ollm_tui.tui.transcript.transcript import Transcript

WIDTH, HEIGHT = 40, 10


class Recorder(HeadlessDriver):
    """A driver of a terminal that is not there."""

    written: list[str]

    def __init__(self, app: App[None], *, size: tuple[int, int] | None) -> None:
        super().__init__(app, size=size)
        self.written = []

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append(data)

    def flush(self) -> None: ...


class Holder(App[None]):
    """A transcript over a line of text."""

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        return Recorder(self, size=size)

    def compose(self) -> ComposeResult:
        yield Transcript(id="view")
        yield Static("below")


@asynccontextmanager
async def room() -> AsyncIterator[tuple[Pilot[None], Transcript, Recorder]]:
    app = Holder()
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        view = app.query_one(Transcript)
        driver = app._driver
        assert isinstance(driver, Recorder)
        await _settled(pilot, view)
        yield pilot, view, driver


async def _settled(pilot: Pilot[None], view: Transcript) -> None:
    while view.busy or view.scroller.writer.is_due:
        await pilot.pause(0.01)
    await pilot.pause()


def _new(driver: Recorder) -> str:
    text = "".join(driver.written)
    driver.written.clear()
    return text


def _lines(count: int) -> Iterator[str]:
    return (f"line {number}\n\n" for number in range(count))


async def test_a_growing_row_is_all_that_is_written() -> None:
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", "one\n\ntwo")
        await _settled(pilot, view)
        _new(driver)
        view.append("a", " three")
        await _settled(pilot, view)
        written = _new(driver)
        assert "two three" in written
        assert "one" not in written
        assert len(written) < 4 * WIDTH + 200


async def test_rows_that_stay_in_view_are_moved_by_the_terminal() -> None:
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", "".join(_lines(30)) + "end")
        await _settled(pilot, view)
        _new(driver)
        view.append("a", "\n\nmore")
        await _settled(pilot, view)
        written = _new(driver)
        assert "M\x1b[r" in written
        assert "more" in written
        assert "line 29" not in written


async def test_scrolling_up_writes_the_new_rows_alone() -> None:
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", "".join(_lines(30)))
        await _settled(pilot, view)
        _new(driver)
        view.scroll_relative(y=-2, animate=False, immediate=True)
        await _settled(pilot, view)
        written = _new(driver)
        assert "L\x1b[r" in written
        assert written.count("line") <= 1


async def test_under_a_dialog_textual_draws() -> None:
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", "".join(_lines(30)))
        await _settled(pilot, view)
        await pilot.app.push_screen(ModalScreen())
        await _settled(pilot, view)
        _new(driver)
        view.append("a", "end of it")
        await _settled(pilot, view)
        assert "\x1b[r" not in _new(driver)
        await pilot.app.pop_screen()
        await _settled(pilot, view)
        assert "end of it" in _new(driver)


async def test_a_view_that_textual_draws_meanwhile_is_not_moved_again() -> None:
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", "".join(_lines(30)) + "end")
        await _settled(pilot, view)
        # as a whole screen that waits to be drawn
        view.screen._dirty_widgets.add(view.screen)
        view.screen._repaint_required = True
        _new(driver)
        view.append("a", "\n\nmore")
        view.painting.paint_slice()
        written = _new(driver)
        assert "M\x1b[r" not in written
        assert written.rindex("line 29") < written.rindex("more")


async def test_rows_that_look_the_same_are_not_written_again() -> None:
    table = "| a | b |\n|---|---|\n" + "".join(f"| one {row} | two |\n" for row in range(3))
    async with room() as (pilot, view, driver):
        view.add_answer("a")
        view.append("a", table)
        await _settled(pilot, view)
        _new(driver)
        view.append("a", "| last | two |\n")
        await _settled(pilot, view)
        written = _new(driver)
        assert "last" in written
        assert "one" not in written
        # nor is it known any more what a row shows that Textual has drawn
        view.render_line(0)
        view.scroller.show_change(0, None)
        await _settled(pilot, view)
        assert "\x1b[1;1H" in _new(driver)
