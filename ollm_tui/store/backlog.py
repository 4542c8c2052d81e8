"""Messages that are not on the disk yet, in their order, and when to write them.

A growing answer is kept only in its newest form and written at most five times a second. What
cannot be written stays here and is retried every second.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ollm_tui.protocol.errors import AIError
from ollm_tui.store.rows import Deleted, MessageRow
from ollm_tui.store.statements import ConversationGone, write_rows

logger = logging.getLogger(__name__)

Transact = Callable[[Callable[[sqlite3.Connection], None]], None]
PACE_S: Final = 0.2
RETRY_S: Final = 1.0


class Backlog:
    """Messages waiting to be written; the event loop fills it, the database's thread empties it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._waiting: dict[str, MessageRow] = {}
        self._known: set[str] = set()
        self._deleted_here: set[str] = set()
        self._deleted_elsewhere: set[str] = set()
        self._tried_at = float("-inf")
        self.writer = ""
        self.problem: AIError | None = None
        """Why the newest write failed, or None if it succeeded."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, row: MessageRow) -> None:
        """Add a message, or a later form of one that is waiting."""
        with self._guard:
            before = self._waiting.get(row.id)
            if before is not None and before.settings is not None and row.settings is None:
                row = replace(row, settings=before.settings)
            self._waiting[row.id] = row

    def know(self, conversation_id: str) -> None:
        """Note that a conversation is in the database, and not deleted."""
        with self._guard:
            self._known.add(conversation_id)
        self._deleted_here.discard(conversation_id)
        self._deleted_elsewhere.discard(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """Drop the messages of a conversation that this program deleted."""
        self._deleted_here.add(conversation_id)
        self._drop(conversation_id)

    def _drop(self, conversation_id: str) -> None:
        with self._guard:
            for row in tuple(self._waiting.values()):
                if row.conversation_id == conversation_id:
                    del self._waiting[row.id]

    def deleted(self, conversation_id: str) -> Deleted | None:
        """Return which program deleted a conversation, as far as a write has noticed it."""
        if conversation_id in self._deleted_here:
            return "here"
        return "elsewhere" if conversation_id in self._deleted_elsewhere else None

    def due_in(self, now: float) -> float | None:
        """Return the seconds until the next write, or None if nothing waits."""
        if not self._waiting:
            return None
        return self._tried_at + (PACE_S if self.problem is None else RETRY_S) - now

    def run(self, transact: Transact) -> None:
        """Write the waiting messages; on failure they keep waiting and `problem` is set."""
        try:
            self.save(transact)
        except AIError as error:
            logger.debug("Still not saved: %s", error.message)

    def save(self, transact: Transact) -> None:
        """Write all that waits in one transaction.

        Raises:
            AIError: nothing was written; the messages keep waiting.
        """
        while rows := self._take():
            try:
                write = partial(write_rows, rows=rows, known=self._known, writer=self.writer)
                transact(write)
            except ConversationGone as error:
                self._deleted_elsewhere.add(error.conversation_id)
                self._drop(error.conversation_id)
                continue
            except AIError as error:
                if self.problem is None:
                    logger.warning("%s", error)
                self.problem = error
                raise
            self._written(rows)
            break

    def _take(self) -> tuple[MessageRow, ...]:
        self._tried_at = self._clock()
        with self._guard:
            return tuple(self._waiting.values())

    def _written(self, rows: Sequence[MessageRow]) -> None:
        self.problem = None
        with self._guard:
            for row in rows:
                self._known.add(row.conversation_id)
                if self._waiting.get(row.id) is row:
                    del self._waiting[row.id]
