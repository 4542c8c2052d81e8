"""Saving a chat as it happens, without a full disk ending the chat."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ChatJournal

logger = logging.getLogger(__name__)
PACE_S = 0.1
"""How often a growing answer is handed to the journal."""
FINISH_S = 2.0


class Saving:
    """Writes messages to a journal, if there is one; what fails is kept in `problem`.

    Each message is written whole again when it ends, so a disk that has room again later holds
    everything from then on.
    """

    def __init__(self, journal: ChatJournal | None) -> None:
        self._journal = journal
        self.problem: AIError | None = None
        """Why the newest write failed; None when it went well."""

    @property
    def journal(self) -> ChatJournal | None:
        """Where the chat is written; None when it is not saved."""
        return self._journal

    async def whole(self, message: Message) -> None:
        """Write a message that will not change; it is safe on return."""
        if self._journal is not None:
            await self.guarded(self._journal.begin, message)

    def rewind(self, kept: int) -> None:
        """Go on after the first `kept` messages of the chat."""
        if self._journal is not None:
            self._journal.rewind(kept)

    def growing(self, clock: Callable[[], float] = anyio.current_time) -> "GrowingMessage":
        """Begin a message that is written while it comes."""
        return GrowingMessage(self, self._journal, clock)

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

    def __init__(
        self, saving: Saving, journal: ChatJournal | None, clock: Callable[[], float]
    ) -> None:
        self._saving = saving
        self._journal = journal
        self._clock = clock
        self._id = ""
        self._taken_at = float("-inf")

    async def take(self, make: Callable[[], Message | None]) -> None:
        """Write the answer as far as it has come; `make` is called a few times a second."""
        if self._journal is None or self._clock() - self._taken_at < PACE_S:
            return
        message = make()
        if message is None:
            return
        self._taken_at = self._clock()
        if self._id:
            await self._saving.guarded(partial(_update, self._journal, self._id), message)
        else:
            self._id = await self._saving.guarded(self._journal.begin, message)

    async def finish(self, message: Message | None) -> None:
        """Write the answer's last form; it is safe on return, and not cut short by a cancel."""
        if self._journal is None or message is None:
            return
        write = partial(_finish, self._journal, self._id) if self._id else self._journal.begin
        with anyio.move_on_after(FINISH_S, shield=True):
            await self._saving.guarded(write, message)


async def _update(journal: ChatJournal, message_id: str, message: Message) -> str:
    await journal.update(message_id, message)
    return message_id


async def _finish(journal: ChatJournal, message_id: str, message: Message) -> str:
    await journal.finish(message_id, message)
    return message_id
