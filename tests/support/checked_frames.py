"""The program, adding to its output now and then what the whole screen should look like by then.

    python -m tests.support.checked_frames [ARGUMENT]...

It runs `ollm` with these arguments. Whenever something was written and nothing waits to be drawn,
it draws the whole screen anew with Textual's own compositor and nothing kept from before, and
writes that into its output, in a sequence that no terminal shows. `tests.support.same_picture`
compares it with what a terminal shows that got all that was written before. If the environment
names a file, the newest picture is written there instead.
"""

import asyncio
import base64
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from textual._compositor import LayoutUpdate
from textual.app import App
from textual.screen import Screen

from ollm_tui.cli import main
from ollm_tui.tui.terminal.driver import TerminalDriver
from ollm_tui.tui.transcript.transcript import Transcript
from tests.support import noted_keys

SIGN = b"\x1b]77770;"
"""How a picture begins."""
FILE = "CHECKED_PICTURE"
"""In the environment: the file for the newest picture."""
LOOK_AGAIN_S = 0.004
LIVE = frozenset({"StatusBar"})
"""The widgets that look at a clock when they are drawn."""
_write = TerminalDriver.write


class Checks:
    """Writes pictures of the whole screen of one app."""

    def __init__(self, driver: TerminalDriver) -> None:
        self._driver = driver
        self._is_due = False

    def wrote(self) -> None:
        """Look soon; what is written in one go is one change."""
        if not self._is_due:
            self._is_due = True
            self._driver._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        app = self._driver._app
        if not app._running or self._driver._is_lent:
            self._is_due = False
        elif not is_settled(app):
            asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look)
        else:
            self._is_due = False
            told = {
                "size": app.size,
                "cursor": app._previous_cursor_position,
                "ansi": drawn(app),
                "live": live_rows(app),
            }
            packed = base64.b64encode(zlib.compress(json.dumps(told).encode(), 1))
            if (file := os.environ.get(FILE)) is None:
                _write(self._driver, (SIGN + packed + b"\x1b\\").decode())
            else:
                Path(file + ".new").write_bytes(packed)
                Path(file + ".new").replace(file)


def is_settled(app: App[Any]) -> bool:
    """Whether all that has changed was written."""
    return (
        app._dom_ready
        and not app._batch_count
        and app.screen.size == app.screen._compositor.size == app.size
        and not (app.screen._repaint_required or app.screen._layout_required)
        and not app.message_queue_size
        and all(map(_is_drawn, app.screen_stack))
    )


def _is_drawn(screen: Screen[Any]) -> bool:
    """Whether all in a screen is drawn; one below another keeps a mark that it is not."""
    if screen._dirty_widgets or screen._compositor._dirty_regions:
        return False
    return all(
        not node.message_queue_size
        and not (isinstance(node, Transcript) and _has_changed(node))
        and (node is screen or not (node._repaint_required or node._layout_required))
        for node in (screen, *screen._compositor.visible_widgets)
    )


def _has_changed(view: Transcript) -> bool:
    """Whether anything is in a transcript that was not drawn yet: a header needs no painting."""
    return view.scroller.writer.is_due or view.block_list.total != view.virtual_size.height


def drawn(app: App[Any]) -> str:
    """Draw the whole screen without anything that was kept."""
    with ExitStack() as kept:
        for screen in app.screen_stack:
            for widget in (screen, *screen._compositor.visible_widgets):
                kept.enter_context(_without(widget, "_styles_cache"))
                if isinstance(widget, Transcript):
                    kept.enter_context(_without(widget.renderer, "_strips"))
        update = app.screen._compositor.render_update(True, app._background_screens)
        assert isinstance(update, LayoutUpdate)
        return update.render_segments(app.console)


@contextmanager
def _without(holder: object, name: str) -> Iterator[None]:
    """Put something new and empty in the place of what an object keeps."""
    kept = getattr(holder, name)
    setattr(holder, name, type(kept)())
    try:
        yield
    finally:
        setattr(holder, name, kept)


def live_rows(app: App[Any]) -> list[int]:
    """The rows that may look different because time has passed."""
    live = [
        region.line_range
        for screen in app.screen_stack
        for node, (region, _) in screen._compositor.visible_widgets.items()
        if type(node).__name__ in LIVE
    ]
    return [row for rows in live for row in rows]


def install() -> None:
    """Have all that is written checked."""
    checks: dict[TerminalDriver, Checks] = {}

    def write(driver: TerminalDriver, data: str) -> None:
        _write(driver, data)
        checks.setdefault(driver, Checks(driver)).wrote()

    setattr(TerminalDriver, "write", write)  # noqa: B010


if __name__ == "__main__":
    install()
    if notes := os.environ.get(noted_keys.VARIABLE):
        noted_keys.install(Path(notes))
    sys.exit(main())
