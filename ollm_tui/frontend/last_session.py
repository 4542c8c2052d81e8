"""Which chat a program had open, in a file that outlives it if it ends without closing.

The file is locked by its program. One that nothing holds is of a program that was killed or that
crashed; a program that is closed removes its own.
"""

import logging
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import is_named, open_lock, try_lock
from ollm_tui.config.regular_file import open_regular
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.notes import SayWithHint
from ollm_tui.frontend.session import ChatSession
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

CONTINUE: Final = "/chats last continues it."
_ID: Final = lazy_re(rb"[0-9A-Za-z-]{1,64}")
_ENDING: Final = ".open"
LOOK_EVERY_S: Final = 0.5
_log: Final = logging.getLogger(__name__)


class OpenChatFile:
    """The file of this program, and those that others have left; every method blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{os.urandom(8).hex()}{_ENDING}"
        self._held: int | None = None
        self._is_closed = False
        self._writing = threading.Lock()

    def write(self, chat_id: str | None) -> None:
        """Name the chat that is open now; None if nothing of it is saved.

        Raises:
            OSError: it cannot be written.
        """
        with self._writing:
            if self._is_closed:
                return
            if chat_id is None:
                self._remove()
                return
            if self._held is None:
                self._held = self._opened()
            os.ftruncate(self._held, 0)
            os.pwrite(self._held, chat_id.encode(), 0)

    def _opened(self) -> int:
        private_folder(self._folder)
        while True:
            descriptor = open_lock(self._path)
            if try_lock(descriptor) and is_named(descriptor, self._path):
                return descriptor
            os.close(descriptor)  # another program took it for one that was left

    def close(self, *, keeps: bool = False) -> None:
        """Remove the file, unless the program ends in a way that the next one should mention."""
        with self._writing:
            self._is_closed = True
            self._remove(keeps=keeps)

    def _remove(self, *, keeps: bool = False) -> None:
        if self._held is not None:
            if not keeps:
                self._path.unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    def take_left(self) -> str | None:
        """Return the chat of the last program that ended without closing, and forget all such."""
        left: list[tuple[float, str]] = []
        with suppress(OSError):
            for path in self._folder.glob(f"*{_ENDING}"):
                if path != self._path and (one := _taken(path)) is not None:
                    left.append(one)
        return max(left, default=(0.0, None))[1]


def _taken(path: Path) -> tuple[float, str] | None:
    """Remove a file that no program holds; return when it was written, and the chat it names."""
    with suppress(OSError):
        descriptor = open_regular(path, os.O_RDWR, follows_links=False)
        try:
            if not try_lock(descriptor):
                return None
            path.unlink(missing_ok=True)
            chat_id = os.pread(descriptor, 100, 0)
            if _ID.fullmatch(chat_id):
                return os.fstat(descriptor).st_mtime, chat_id.decode()
        finally:
            os.close(descriptor)
    return None


def left_words(left: str, shown: str | None) -> tuple[str, str | None]:
    """Say that the last program ended without closing, and how its chat is continued."""
    if left == shown:
        return "ollm ended without closing last time. This chat was saved.", None
    return "ollm ended without closing last time. The chat was saved.", CONTINUE


@dataclass(slots=True)
class LastSession:
    """Keeps on the disk which chat is open, and says at the start what was left there."""

    session: ChatSession
    run: Callable[[Coroutine[Any, Any, None]], object]
    """Runs work in the background until the program ends."""
    say: SayWithHint
    file: OpenChatFile | None
    has_crashed: Callable[[], bool]
    """Whether the program ends because something failed: that is mentioned at the next start."""
    _left: str | None = None
    """The chat of the program that ended without closing."""
    _written: str | None = None
    _has_looked: bool = False

    async def look(self) -> None:
        """Say what was left, once; `start` looks, too."""
        if self.file is None or self._has_looked:
            return
        self._has_looked = True
        self._left = await run_sync(self.file.take_left)
        if self._left is not None:
            text, hint = left_words(self._left, self._shown())
            self.say(text, "warning", hint)

    def start(self) -> None:
        """Look once for what was left, and note the open chat until the app ends."""
        if self.file is not None:
            self.run(self._keep(self.file))

    async def _keep(self, file: OpenChatFile) -> None:
        try:
            await self.look()
            while True:
                if (shown := self._shown()) != self._written:
                    self._written = shown
                    await run_sync(file.write, shown)
                await anyio.sleep(LOOK_EVERY_S)
        except OSError as error:
            _log.warning("The open chat cannot be noted: %s", error.strerror)
        finally:
            with suppress(OSError):
                keeps = self.has_crashed()
                if keeps:  # also if that was before the next look
                    file.write(self._shown())
                file.close(keeps=keeps)

    def _shown(self) -> str | None:
        return self.session.runtime.chat_id(self.session.client)

    async def chat_to_continue(self) -> str:
        """Return the chat that was left, or the one that was written last.

        Raises:
            AIError: there is none, or it cannot be read.
        """
        left, self._left = self._left, None
        if left is not None:
            return left
        chats = self.session.runtime.chats
        latest = await chats.latest() if chats is not None else None
        if latest is None:
            raise AIError(ErrorCode.BAD_REQUEST, "No saved chats yet.")
        return latest.id
