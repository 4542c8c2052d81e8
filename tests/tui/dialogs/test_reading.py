"""A text to be read to its last character: all of it can be seen, at any size."""

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical

from ollm_tui.tui.dialogs.reading import Passage, Reading

NUMBERS = "".join(f"<{number}>" for number in range(400))


class Page(App[None]):
    CSS = "Vertical { height: auto; }"

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Reading([Passage("numbers", NUMBERS), Passage("last", "z")], margin=4)


def on_screen(app: Page) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return [strip.text for strip in strips]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("width", [20, 41, 80])
@pytest.mark.parametrize("height", [10, 24, 200])
async def test_scrolling_through_shows_every_character(width: int, height: int) -> None:
    app = Page()
    async with app.run_test(size=(width, height)) as pilot:
        reading = app.query_one(Reading)
        await pilot.pause()
        # a dialog is laid out again whenever the line below changes
        reading.refresh(layout=True)
        await pilot.pause()
        rows: dict[int, str] = {}
        for top in range(reading.max_scroll_y + 1):
            reading.scroll_to(y=top, animate=False)
            await pilot.pause()
            region = reading.scrollable_content_region
            shown = on_screen(app)[region.y : region.bottom]
            rows |= {top + y: line[region.x : region.right] for y, line in enumerate(shown)}
        texts = [rows[y] for y in sorted(rows) if rows[y].startswith("▌ ")]
        assert "".join(line[2:].rstrip() for line in texts) == NUMBERS + "z"
