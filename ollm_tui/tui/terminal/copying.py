"""Copying from a screen: to the terminal's clipboard, or to a file if that is too small."""

import logging
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio.lowlevel
import anyio.to_thread

from ollm_tui.config.paths import private_folder
from ollm_tui.decode.clean import Cleaner, clean
from ollm_tui.decode.counted import counted
from ollm_tui.tui.transcript import Selected, copied_lines
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from textual.app import App

logger = logging.getLogger(__name__)

MAX_ENCODED: Final = 100_000
"""Bytes of a clipboard sequence, after base64, that every terminal is known to accept.

A terminal that refuses one does not report it, so nothing larger is sent.
"""
SLICE_S: Final = 0.008
"""How long a copy may block the screen at a time."""
_PIECE: Final = 65_536
_SOON_S = 0.3  # a copy that takes longer shows that it is in progress
_LONG_S = 60.0


def fits_a_terminal(text: str) -> bool:
    """Return whether a text is short enough for every terminal's clipboard."""
    if len(text) > MAX_ENCODED:
        return False
    return -(-len(text.encode("utf-8", "replace")) // 3) * 4 <= MAX_ENCODED


def pieces(text: str) -> Iterator[str]:
    """Yield a text in short pieces."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def joined_lines(lines: Iterable[str | None]) -> Iterator[str | None]:
    """Yield lines with line ends between them; None, a place to pause, is passed on."""
    end = ""
    for line in lines:
        yield line if line is None else end + line
        end = end if line is None else "\n"


async def cleaned(parts: Iterable[str | None]) -> AsyncIterator[str]:
    """Yield a text without control sequences, from its parts; pauses for other tasks."""
    cleaner, due = Cleaner(), time.monotonic() + SLICE_S
    done: list[str] = []
    for part in parts:
        if part:
            done.append(cleaner.feed(part))
        if time.monotonic() > due:
            # joined here, so that the caller need not join millions of parts at once
            yield "".join(done)
            done.clear()
            await anyio.lowlevel.checkpoint()
            due = time.monotonic() + SLICE_S
    yield "".join(done) + cleaner.finish()


def write_copy(folder: Path, text: str) -> Path:
    """Write a text to a new file that only its owner can read, and return its path.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    private_folder(folder)
    stem, number = time.strftime("copy-%Y%m%d-%H%M%S"), 1
    while True:
        path = folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        return path


class CopyScreen(Protocol):
    """What a copy needs of its screen, so that each screen can have one."""

    @property
    def app(self) -> "App[Any]":
        """The app, which has the clipboard."""

    @property
    def hints(self) -> HintLine:
        """The line for short messages."""

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool) -> object:
        """Run a task in the background."""

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy was saved."""


class ClipboardCopier:
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
        from ollm_tui.tui.dialogs import SaveCopyDialog, short_path

        if self._folder is None:
            self._say("This is too large for the terminal's clipboard")
            return
        self._screen.hints.hush()
        question = SaveCopyDialog(text.count("\n") + 1, len(text), self._folder)
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
