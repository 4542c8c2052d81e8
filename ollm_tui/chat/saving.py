"""Saving a chat as it happens, without a full disk ending the chat."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from ollm_tui.protocol.blocks import content_to_text
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ChatJournal

logger = logging.getLogger(__name__)
PACE_S = 0.1
"""How often a growing answer is handed to the journal."""
CHARACTERS_PER_S = 4_000_000
"""How much of an answer is handed over in a second: one of 10 MB is written every 2.5 s."""
FINISH_S = 2.0
Make = Callable[[], Message | None]


def pause_after(size: int) -> float:
    """Give the seconds until so many characters are handed over again."""
    return max(PACE_S, size / CHARACTERS_PER_S)


class Saving:
    """Writes messages to a journal, if there is one; what fails is kept in `problem`.

    A journal keeps what it could not write and writes it later, so nothing is begun twice.
    """

    def __init__(self, journal: ChatJournal | None) -> None:
        self._journal = journal
        self._growing: GrowingMessage | None = None
        self._grown = anyio.Event()
        self.problem: AIError | None = None
        """Why the newest write failed; None when it went well."""

    @property
    def journal(self) -> ChatJournal | None:
        """Where the chat is written; None when it is not saved."""
        return self._journal

    def rewind(self, kept: int) -> None:
        """Go on after the first `kept` messages of the chat."""
        if self._journal is not None:
            self._journal.rewind(kept)

    async def whole(self, message: Message) -> None:
        """Write a message that will not change; it is safe on return."""
        if self._journal is not None:
            await self.guarded(self._journal.begin, message)

    def growing(self) -> "GrowingMessage":
        """Begin a message that is written while it comes."""
        self._growing = GrowingMessage(self, self._journal)
        return self._growing

    def has_grown(self) -> None:
        """Note that the open message has more than was handed over."""
        self._grown.set()

    async def keep_pace(self) -> None:
        """Hand the open message over a few times a second while it grows; runs beside a prompt.

        Each time all of it is written anew, so a very long one is handed over less often.
        """
        while self._journal is not None:
            await self._grown.wait()
            self._grown = anyio.Event()
            size = await self._growing.hand_over() if self._growing is not None else 0
            await anyio.sleep(pause_after(size))

    async def guarded(self, write: Callable[[Message], Awaitable[str]], message: Message) -> str:
        """Write; a failure is kept and gives an empty id."""
        try:
            message_id = await write(message)
        except AIError as error:
            if self.problem is None:
                logger.warning("The chat could not be saved: %s", error.message)
            self.problem = error
            return ""
        self.problem = None
        return message_id


class GrowingMessage:
    """One answer in the journal: begun with its first piece, finished with its last form."""

    def __init__(self, saving: Saving, journal: ChatJournal | None) -> None:
        self._saving = saving
        self._journal = journal
        self._make: Make | None = None
        self._id = ""
        self._lock = anyio.Lock()

    def take(self, make: Make) -> None:
        """Note that more has come; `make` gives all of it when it is written."""
        if self._journal is not None:
            self._make = make
            self._saving.has_grown()

    async def hand_over(self) -> int:
        """Give the journal what has come so far; gives its length in characters."""
        async with self._lock:
            journal, message = self._journal, self._make() if self._make else None
            if journal is None or message is None:
                return 0
            if self._id:
                await self._saving.guarded(partial(_update, journal, self._id), message)
            else:
                self._id = await self._saving.guarded(journal.begin, message)
        return len(content_to_text(message.content))

    async def finish(self, message: Message | None) -> None:
        """Write the answer's last form; it is safe on return, and not cut short by a cancel."""
        journal = self._journal
        if journal is None or message is None:
            return
        self._make = None
        with anyio.move_on_after(FINISH_S, shield=True):
            async with self._lock:
                if not self._id:
                    self._id = await self._saving.guarded(journal.begin, message)
                await self._saving.guarded(partial(_finish, journal, self._id), message)


async def _update(journal: ChatJournal, message_id: str, message: Message) -> str:
    await journal.update(message_id, message)
    return message_id


async def _finish(journal: ChatJournal, message_id: str, message: Message) -> str:
    await journal.finish(message_id, message)
    return message_id
