"""Copying for a screen: to the terminal's clipboard, or to a file where that is too small."""

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
from ollm_tui.tui.transcript.selection import Selected, copied_lines
from ollm_tui.tui.widgets.hint_line import FLASH_S, HintLine

if TYPE_CHECKING:
    from textual.app import App

logger = logging.getLogger(__name__)
_SOON_S = 0.3
"""A copy that takes longer says that it is under way."""
_LONG_S = 60.0


class CopyScreen(Protocol):
    """A screen that one can copy from."""

    @property
    def app(self) -> "App[Any]":
        """The program, which has the clipboard."""
        ...

    @property
    def hints(self) -> HintLine:
        """Where a word about the copy is said for a moment."""
        ...

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool) -> object:
        """Do something in the background."""
        ...

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy is, so that it stays to be read."""
        ...


class Copying:
    """One copy at a time; a further one takes the place of one that is under way."""

    def __init__(self, screen: CopyScreen, folder: Path | None) -> None:
        self._screen = screen
        self._folder = folder

    def text(self, text: str) -> None:
        """Copy a text as it is; a short one at once."""
        if fits_a_terminal(text):
            self._send(clean(text))
        else:
            self._begin(pieces(text))

    def rows(self, rows: Iterable[Selected | None]) -> None:
        """Copy what is selected of painted rows, however much that is."""
        self._begin(joined_lines(copied_lines(rows)), ends="\n")

    def _begin(self, parts: Iterable[str | None], ends: str = "") -> None:
        self._screen.run_worker(self._copy(parts, ends), group="copy", exclusive=True)

    async def _copy(self, parts: Iterable[str | None], ends: str) -> None:
        began, is_said, found = time.monotonic(), False, []
        async for part in cleaned(parts):
            found.append(part)
            if not is_said and time.monotonic() - began > _SOON_S:
                is_said = True
                self._say("Copying…", _LONG_S)
        text = "".join(found).rstrip(ends) if ends else "".join(found)
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
        """Ask first: what is said in a chat is written nowhere unasked."""
        # Not needed before there is such a copy.
        from ollm_tui.tui.dialogs.save_copy import SaveCopy, short_path

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
