"""pyte's screen with what it lacks: scrolling a region, repeating, and lines never written to."""

from collections.abc import Callable
from typing import Final

import pyte


class ScrollingScreen(pyte.Screen):
    """A screen that also scrolls and repeats as xterm does."""

    _last = " "

    @property
    def display(self) -> list[str]:
        """The lines, also where half of a wide character was written over."""
        rows = (self.buffer[y] for y in range(self.lines))
        return ["".join(row[x].data for x in range(self.columns)) for row in rows]

    def draw(self, data: str) -> None:
        super().draw(data)
        self._last = data[-1:]

    def repeat(self, count: int | None = None) -> None:
        """Write the last character again."""
        self.draw(self._last * (count or 1))

    def scroll_up(self, count: int | None = None) -> None:
        """Move the lines of the region up; the cursor stays."""
        self._scroll(self.delete_lines, count)

    def scroll_down(self, count: int | None = None) -> None:
        """Move the lines of the region down; the cursor stays."""
        self._scroll(self.insert_lines, count)

    def _scroll(self, move: Callable[[int | None], None], count: int | None) -> None:
        column, line = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        move(count)
        self.cursor.x, self.cursor.y = column, line

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Set the region, or all of the screen; either way the cursor goes home."""
        super().set_margins(top, bottom)
        if self.margins is None:
            self.cursor_position()

    def delete_lines(self, count: int | None = None) -> None:
        self._make_lines()
        super().delete_lines(count)

    def insert_lines(self, count: int | None = None) -> None:
        self._make_lines()
        super().insert_lines(count)

    def _make_lines(self) -> None:
        """A line that was never written to would leave the one standing whose place it takes."""
        for row in range(self.lines):
            self.buffer[row]


_MORE: Final = {"S": "scroll_up", "T": "scroll_down", "b": "repeat"}
_STREAM: Final[type[pyte.Stream]] = type(
    "ScrollingStream",
    (pyte.Stream,),
    {"csi": pyte.Stream.csi | _MORE, "events": pyte.Stream.events | set(_MORE.values())},
)


def screen_and_stream(columns: int, lines: int) -> tuple[ScrollingScreen, pyte.Stream]:
    """Give a screen, and the stream that it shows."""
    screen = ScrollingScreen(columns, lines)
    return screen, _STREAM(screen)
