"""Save a chat as it grows; a full disk does not end the chat."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from ollm_tui.protocol.blocks import content_to_text
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ChatJournal
from ollm_tui.tasks import task_group

logger = logging.getLogger(__name__)
PACE_S = 0.1
"""Interval at which a growing answer is passed to the journal."""
CHARACTERS_PER_S = 4_000_000
"""Throughput of a growing answer: one of 10 MB is written every 2.5 s."""
FINISH_S = 2.0
T = TypeVar("T")


def pause_after(size: int) -> float:
    """Return the seconds to wait after so many characters were passed on."""
    return max(PACE_S, size / CHARACTERS_PER_S)


class ChatSaver:
    """Writes messages to a journal, if there is one; a failure is kept in `problem`.

    The journal keeps what it could not write and writes it later, so nothing is written twice.
    """

    def __init__(self, journal: ChatJournal | None) -> None:
        self.journal = journal
        """The journal of the chat, or None if the chat is not saved."""
        self._growing: GrowingMessage | None = None
        self._grown = anyio.Event()
        self.problem: AIError | None = None
        """Why the newest write failed, or None if it succeeded."""

    def rewind(self, kept: int) -> None:
        """Continue after the first `kept` messages of the chat."""
        if self.journal is not None:
            self.journal.rewind(kept)

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        """Continue after the first `kept` messages with others; they are on the disk on return."""
        if self.journal is not None:
            await self.record_errors(self.journal.branch(kept, messages))

    async def write(self, message: Message) -> None:
        """Write a message that will not change; it is on the disk on return."""
        if self.journal is not None:
            await self.record_errors(self.journal.begin(message))

    async def write_alongside(self, message: Message, work: Callable[[], Awaitable[T]]) -> T:
        """Write a message like `write` while `work` is done, and return what that returns."""
        async with task_group() as group:
            group.start_soon(self.write_shielded, message)
            return await work()

    async def write_shielded(self, message: Message) -> None:
        """Write a message like `write`, also when this is cancelled."""
        with anyio.move_on_after(FINISH_S, shield=True):
            await self.write(message)

    def begin_growing(self) -> "GrowingMessage":
        """Begin a message that is written while it arrives."""
        self._growing = GrowingMessage(self, self.journal)
        return self._growing

    def note_growth(self) -> None:
        """Note that the open message has grown."""
        self._grown.set()

    async def keep_pace(self) -> None:
        """Pass the open message on a few times a second while it grows; runs alongside a prompt.

        Each time all of it is written, so a very long one is passed on less often.
        """
        while self.journal is not None:
            await self._grown.wait()
            self._grown = anyio.Event()
            size = await self._growing.hand_over() if self._growing is not None else 0
            if size:  # else the last answer had grown
                await anyio.sleep(pause_after(size))

    async def record_errors(self, write: Awaitable[str | None]) -> str:
        """Await a write and return its id; after a failure, keep the error and return none."""
        try:
            message_id = await write
        except AIError as error:
            if self.problem is None:
                logger.warning("The chat could not be saved: %s", error.message)
            self.problem = error
            return ""
        self.problem = None
        return message_id or ""


class GrowingMessage:
    """One answer in the journal: begun with its first piece, finished with its last form."""

    def __init__(self, saving: ChatSaver, journal: ChatJournal | None) -> None:
        self._saving = saving
        self._journal = journal
        self._make: Callable[[], Message | None] | None = None
        self._id = ""
        self._lock = anyio.Lock()

    def take(self, make: Callable[[], Message | None]) -> None:
        """Note that more has arrived; `make` returns all of it when it is written."""
        if self._journal is not None:
            self._make = make
            self._saving.note_growth()

    async def hand_over(self) -> int:
        """Pass what has arrived so far to the journal; return its length in characters."""
        async with self._lock:
            journal, message = self._journal, self._make() if self._make else None
            if journal is None or message is None:
                return 0
            if self._id:
                await self._saving.record_errors(journal.update(self._id, message))
            else:
                self._id = await self._saving.record_errors(journal.begin(message))
        return len(content_to_text(message.content))

    async def finish(self, message: Message | None) -> None:
        """Write the answer's final form; it is on the disk on return, also after a cancellation."""
        journal = self._journal
        if journal is None or message is None:
            return
        self._make = None
        with anyio.move_on_after(FINISH_S, shield=True):
            async with self._lock:
                if not self._id:
                    self._id = await self._saving.record_errors(journal.begin(message))
                await self._saving.record_errors(journal.finish(self._id, message))
