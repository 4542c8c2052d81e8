"""Copying from a screen: to the terminal's clipboard, or to a file if that is too small."""

import logging
import time
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread

from ollm_tui.decode.clean import clean
from ollm_tui.decode.counted import counted
from ollm_tui.tui.terminal.clipboard import (
    cleaned,
    fits_a_terminal,
    joined_lines,
    pieces,
    write_copy,
)
from ollm_tui.tui.transcript import Selected, copied_lines
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from textual.app import App

logger = logging.getLogger(__name__)
_SOON_S = 0.3
"""A longer copy shows that it is in progress."""
_LONG_S = 60.0


class CopyScreen(Protocol):
    """What a copy needs of its screen, so that each screen can have one."""

    @property
    def app(self) -> "App[Any]":
        """The app, which has the clipboard."""
        ...

    @property
    def hints(self) -> HintLine:
        """The line for short messages."""
        ...

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool) -> object:
        """Run a task in the background."""
        ...

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy was saved."""
        ...


class Copying:
    """Runs one copy at a time; a new one cancels one in progress."""

    def __init__(self, screen: CopyScreen, folder: Path | None) -> None:
        self._screen = screen
        self._folder = folder

    def text(self, text: str) -> None:
        """Copy a text; a short one at once."""
        if fits_a_terminal(text):
            self._send(clean(text))
        else:
            self._begin(pieces(text))

    def rows(self, rows: Iterable[Selected | None]) -> None:
        """Copy the selected parts of painted rows."""
        self._begin(joined_lines(copied_lines(rows)), ends="\n")

    def _begin(self, parts: Iterable[str | None], ends: str = "") -> None:
        self._screen.run_worker(self._copy(parts, ends), group="copy", exclusive=True)

    async def _copy(self, parts: Iterable[str | None], ends: str) -> None:
        began, is_shown, done = time.monotonic(), False, []
        async for part in cleaned(parts):
            done.append(part)
            if not is_shown and time.monotonic() - began > _SOON_S:
                is_shown = True
                self._say("Copying…", _LONG_S)
        text = "".join(done).rstrip(ends) if ends else "".join(done)
        if fits_a_terminal(text):
            self._send(text)
        else:
            await self._offer_file(text)

    def _send(self, text: str) -> None:
        if not text:
            self._say("Nothing to copy")
            return
        self._screen.app.copy_to_clipboard(text)
        lines = counted(text.count("\n") + 1, "line")
        self._say(f"Sent {lines} to the terminal's clipboard")

    async def _offer_file(self, text: str) -> None:
        """Save to a file after a yes: chats are not written anywhere unasked."""
        # not needed before there is such a copy
        from ollm_tui.tui.dialogs import SaveCopy, short_path

        if self._folder is None:
            self._say("This is too large for the terminal's clipboard")
            return
        self._screen.hints.hush()
        question = SaveCopy(text.count("\n") + 1, len(text), self._folder)
        if not await self._screen.app.push_screen_wait(question):
            return
        try:
            path = await anyio.to_thread.run_sync(write_copy, self._folder, text)
        except OSError as error:
            logger.warning("A copy could not be written: %s", error)
            reason = error.strerror or type(error).__name__
            self._screen.say_of_copy(f"The copy could not be written: {reason}.", is_error=True)
        else:
            self._screen.say_of_copy(f"Saved the copy to {short_path(path)}.")

    def _say(self, words: str, seconds: float = FLASH_S) -> None:
        self._screen.hints.flash(words, seconds)
