"""`ChatSearch`: the search over all chats behind an async face, and its thread that indexes."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.faults import is_damage, kind_of, translated
from ollm_tui.store.files import identity
from ollm_tui.store.search.index_file import (
    IndexPlace,
    NoIndex,
    check_format,
    has_fts5,
    open_for_reading,
)
from ollm_tui.store.search.indexer import discard_index, indexing
from ollm_tui.store.search.lookup import (
    SearchHit,
    search_chats,
    search_index,
    with_tagged_chats,
)
from ollm_tui.store.search.query import SearchQuery
from ollm_tui.store.search.vectors import Cancelled

if TYPE_CHECKING:
    from ollm_tui.store.search.similar import SimilarSearch

logger = logging.getLogger(__name__)

FIRST_LOOK_S: Final = 2.0
"""How long after `start` the first pass begins, so that it does not slow down the start."""
LOOK_EVERY_S: Final = 5.0
REST: Final = 2.0
"""How long the thread rests after a slice, in times of what that took."""
CLOSING_S: Final = 2.0
AT_ONCE: Final = 2
"""Searches that may be in a thread: one that is stopped, and the one that follows it."""
CHECKED_STEPS: Final = 2000
"""Instructions of SQLite between two looks whether the search is still wanted."""
NO_FTS5: Final = (
    "The SQLite of this Python has no full-text search (FTS5): each search reads all messages."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """The newest messages that match, the newest first."""

    hits: tuple[SearchHit, ...] = ()
    notice: str | None = None
    """A sentence about why the search is slow, or None."""
    is_complete: bool = True
    """Whether all messages were searched; False while the index is being made."""
    progress: float = 1.0
    """The share of the messages that was searched."""


class _Search:
    """One search in a thread, which may be stopped from outside."""

    def __init__(self) -> None:
        self.is_cancelled = False


class ChatSearch:
    """Searches the chats of one file, and keeps their index up to date once it is started."""

    similar: "SimilarSearch | None" = None
    """Finds similar messages; None where no models can be used."""

    def __init__(
        self, chats: Path, *, fts5: bool | None = None, first_look_s: float = FIRST_LOOK_S
    ) -> None:
        self._place = IndexPlace(chats)
        self._has_fts5 = has_fts5() if fts5 is None else fts5
        self._first_look_s = first_look_s
        self._guard = threading.Lock()
        self._reading = threading.Lock()
        self._current: _Search | None = None
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self._interrupt: Callable[[], None] | None = None
        self._counts = (0, 0)
        self._is_made = False
        self.problem: str | None = None if self._has_fts5 else NO_FTS5
        """Why there is no index, or None."""

    def start(self) -> None:
        """Index in the background from now on; a second call has it look for changes at once."""
        if self._thread is not None:
            self._wanted.set()
        elif self._has_fts5 and not self._stopping.is_set():
            self._thread = threading.Thread(target=self._work, name="chat search", daemon=True)
            self._thread.start()

    async def update(self, report: Callable[[int, int], None]) -> None:
        """Bring the index up to date now; `report` gets how many messages are done, and of all.

        If another program does it already, this one does not wait for it.
        """
        if self._has_fts5:
            with_report = partial(self._run_pass, report=report, is_paced=False)
            try:
                await anyio.to_thread.run_sync(
                    with_report, limiter=self._limiter, abandon_on_cancel=True
                )
            except anyio.get_cancelled_exc_class():
                self._stop()
                raise

    async def search(
        self, query: SearchQuery, *, limit: int = 50, before: int | None = None
    ) -> SearchResults:
        """Return the newest messages that match; cancelling the caller stops the search.

        `before` is the number of the last hit of the page before.

        Raises:
            AIError: the chats cannot be read.
        """
        if query.is_empty:
            return SearchResults()
        search = _Search()
        work = partial(self._search_now, search, query, limit, before)
        try:
            return await anyio.to_thread.run_sync(
                work, limiter=self._limiter, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            search.is_cancelled = True
            raise

    async def close(self) -> None:
        """End the thread and close the files."""
        self._stop()
        thread = self._thread
        if thread is not None:
            await anyio.to_thread.run_sync(thread.join, CLOSING_S)
        with self._guard:
            if self._current is None and self._connection is not None:
                self._connection.close()
                self._connection = None

    def _stop(self) -> None:
        self._stopping.set()
        self._wanted.set()
        with self._guard:
            if self._current is not None:
                self._current.is_cancelled = True
            if self._interrupt is not None:
                with suppress(sqlite3.Error):  # closed in this moment
                    self._interrupt()

    # Searching, in threads of the pool

    def _search_now(
        self, search: _Search, query: SearchQuery, limit: int, before: int | None
    ) -> SearchResults:
        with self._reading:
            with self._guard:
                if search.is_cancelled:
                    raise Cancelled
                self._current = search
            try:
                return self._results(search, self._with_tagged(query), limit, before)
            finally:
                with self._guard:
                    self._current = None

    def _with_tagged(self, query: SearchQuery) -> SearchQuery:
        try:
            return with_tagged_chats(query, self._place.chats)
        except OSError:  # nothing is saved yet
            return replace(query, chats=())
        except sqlite3.Error as error:
            raise translated(error, self._place.chats, "searched") from error

    def _results(
        self, search: _Search, query: SearchQuery, limit: int, before: int | None
    ) -> SearchResults:
        if self.problem is None:
            try:
                hits = search_index(self._index(), query, limit, before)
            except FileNotFoundError:
                return self._with_progress(())
            except (OSError, NoIndex) as error:
                logger.warning("The search index cannot be used: %s", error)
            except sqlite3.Error as error:
                if search.is_cancelled:
                    raise Cancelled from error
                logger.warning("The search index cannot be read: %s", error)
            else:
                return self._with_progress(tuple(hits))
        hits = self._scan(search, query, limit, before)
        return SearchResults(hits=tuple(hits), notice=self.problem)

    def _with_progress(self, hits: tuple[SearchHit, ...]) -> SearchResults:
        indexed, saved = self._counts
        if self._thread is None or self._is_made:
            return SearchResults(hits=hits)
        share = min(0.99, indexed / saved) if saved else 0.0
        return SearchResults(hits=hits, is_complete=False, progress=share)

    def _index(self) -> sqlite3.Connection:
        """Return the connection to the index, a new one if the file was replaced."""
        file = identity(self._place.index)
        if self._connection is None or file != self._file:
            connection = open_for_reading(self._place.index)
            try:
                check_format(connection)
                connection.set_progress_handler(self._is_unwanted, CHECKED_STEPS)
            except BaseException:
                connection.close()
                raise
            with self._guard:
                before, self._connection = self._connection, connection
            self._file = file
            if before is not None:
                before.close()
        return self._connection

    def _is_unwanted(self) -> bool:
        """Return whether SQLite shall stop; an interrupt would miss what is about to begin."""
        return self._current is not None and self._current.is_cancelled

    def _scan(
        self, search: _Search, query: SearchQuery, limit: int, before: int | None
    ) -> list[SearchHit]:
        try:
            connection = open_for_reading(self._place.chats)
        except OSError:
            return []
        try:
            return search_chats(connection, query, limit, before, lambda: search.is_cancelled)
        except sqlite3.Error as error:
            raise translated(error, self._place.chats, "searched") from error
        finally:
            connection.close()

    # Indexing, in the thread of its own

    def _work(self) -> None:
        self._wanted.wait(self._first_look_s)
        before: object = None
        while not self._stopping.is_set():
            self._wanted.clear()
            state = self._state_of_chats()
            if state != before:
                before = state if self._run_pass() else None
            self._wanted.wait(LOOK_EVERY_S)

    def _state_of_chats(self) -> object:
        """Return what changes whenever a program saves."""
        chats = self._place.chats
        state: list[tuple[int, int, int] | None] = []
        for file in (chats, chats.with_name(f"{chats.name}-wal"), self._place.index):
            try:
                status = file.stat()
            except OSError:
                state.append(None)
                continue
            is_index = file == self._place.index
            changes = (0, 0) if is_index else (status.st_mtime_ns, status.st_size)
            state.append((status.st_ino, *changes))
        return state

    def _run_pass(
        self, report: Callable[[int, int], None] = lambda _done, _all: None, is_paced: bool = True
    ) -> bool:
        """Bring the index up to date; return False if that has to be tried again."""
        try:
            return self._index_all(report, is_paced)
        except FileNotFoundError:
            self._is_made = True  # nothing is saved yet
            return False
        except sqlite3.DatabaseError as error:
            if self._stopping.is_set():
                return False
            logger.warning("The chats could not be indexed: %s", error)
            if is_damage(error) or kind_of(error) == sqlite3.SQLITE_ERROR:
                self._is_made = False
                with suppress(OSError):
                    discard_index(self._place)
            else:
                self.problem = _no_index(translated(error, self._place.index, "made"))
            return False
        except (OSError, NoIndex) as error:
            logger.warning("The chats cannot be indexed: %s", error)
            self.problem = f"{error}" if isinstance(error, NoIndex) else _no_index(error)
            return False
        except Exception:  # the thread must survive
            logger.exception("Indexing the chats failed unexpectedly")
            return False

    def _index_all(self, report: Callable[[int, int], None], is_paced: bool) -> bool:
        with indexing(self._place) as indexer:
            if indexer is None:
                return False
            with self._guard:
                self._interrupt = indexer.interrupt
            try:
                if not self._is_made or not is_paced:  # counting a million messages takes a while
                    self._counts = indexer.counts()
                started = time.monotonic()
                for done in indexer.run():
                    indexed, saved = self._counts
                    self._counts = (min(indexed + done, saved), saved)
                    report(*self._counts)
                    if self._stopping.is_set():
                        return False
                    if is_paced:  # most of the time is left to what people wait for
                        self._stopping.wait(REST * (time.monotonic() - started))
                    started = time.monotonic()
                self._is_made = True
            finally:
                with self._guard:
                    self._interrupt = None
        self.problem = None
        return True


def _no_index(error: AIError | OSError) -> str:
    reason = error.message if isinstance(error, AIError) else f"{error.strerror or error}."
    return f"There is no search index, so each search reads all messages. {reason}"
