"""A database and the one thread that uses it.

Jobs run in the order they were submitted, each in a transaction of its own. A caller that is
cancelled meanwhile waits for the end of its job, so no transaction is ever torn. Between jobs the
thread writes the backlog when it is due, without the event loop or a task.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

import anyio
import anyio.lowlevel

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.connect import Opened, open_connection
from ollm_tui.store.faults import mapped_faults
from ollm_tui.store.files import Instances, identity
from ollm_tui.store.migrate import Migration, schema_version, shipped_migrations

logger = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Database:
    """One SQLite file; made by `Database.open`, and closed by `close`."""

    def __init__(self, path: Path, steps: Sequence[Migration] | None, backlog: Backlog) -> None:
        self.path = path
        self._steps = steps
        self._backlog = backlog
        self.instances = Instances(path, f"{time.time_ns():x}-{threading.get_native_id()}")
        self._opened: Opened | None = None
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="chats", daemon=True)
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, steps: Sequence[Migration] | None, backlog: Backlog
    ) -> "Database":
        """Open or create the file; a problem is in `notice` and never raised."""
        database = cls(path, steps, backlog)
        database._thread.start()
        try:
            await database.run(database._open)
        except BaseException:
            database._leave()
            raise
        return database

    @property
    def notice(self) -> str | None:
        """A sentence for the user about the file, or None if all is well."""
        return self._opened.notice if self._opened is not None else None

    @property
    def saves(self) -> bool:
        """Whether what is written is saved to disk."""
        opened = self._opened
        return opened is not None and opened.writable and opened.file is not None

    @property
    def writable(self) -> bool:
        """Whether anything can be written, even if only to memory."""
        return self._opened is not None and self._opened.writable

    async def read(self, work: Work[T]) -> T:
        """Run `work` in a read transaction.

        Raises:
            AIError: it cannot be read.
        """
        return await self.run(lambda: self._transact(work, "BEGIN", "read"))

    async def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction that is on the disk when this returns.

        Raises:
            AIError: nothing was saved.
        """
        return await self.run(lambda: self.write_now(work))

    def wake(self) -> None:
        """Have the thread check for background work."""
        self._jobs.put(lambda: None)

    def later(self, job: Callable[[], None]) -> None:
        """Run a job on the database's thread after those submitted before; nobody waits for it."""
        self._jobs.put(partial(_guarded, job))

    async def shrink_log(self) -> None:
        """Write the log to the file and empty it, so that it keeps nothing that was removed."""

        def work() -> None:
            self._held().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

        await self.run(work)

    async def close(self) -> None:
        """Finish the submitted jobs, then close the file; a second call is a no-op."""
        if not self._closed:
            done = self._leave()
            await _result_of(done)

    def write_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction; for the database's own thread."""
        opened = self._held()
        if not opened.writable:
            raise AIError(
                ErrorCode.PERMISSION_DENIED,
                "Not saved: the saved chats can only be read.",
                hint=opened.notice,
                details={"reason": "read_only", "path": str(self.path)},
            )
        if opened.file is not None and identity(self.path) != opened.file:
            raise AIError(
                ErrorCode.CONFLICT,
                "Not saved: the file of saved chats was moved or deleted while it was in use.",
                hint="Start again to begin a new one.",
                details={"reason": "gone", "path": str(self.path)},
            )

        def guarded(connection: sqlite3.Connection) -> T:
            if schema_version(connection) != opened.version:
                raise AIError(
                    ErrorCode.CONFLICT,
                    "Not saved: a newer version of this program has taken over the saved chats.",
                    hint="Start again with the newer version.",
                    details={"reason": "newer"},
                )
            return work(connection)

        return self._transact(guarded, "BEGIN IMMEDIATE", "saved")

    def _transact(self, work: Work[T], begin: str, verb: str) -> T:
        connection = self._held().connection
        with mapped_faults(self.path, verb, self.instances.note_damage):
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has rolled back already
                    connection.execute("ROLLBACK")
                raise
        return result

    def _held(self) -> Opened:
        if self._opened is None:
            raise AIError(ErrorCode.INTERNAL_ERROR, "The file of saved chats is closed.")
        return self._opened

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job on the database's thread, after those submitted before."""
        if self._closed:
            raise AIError(ErrorCode.INTERNAL_ERROR, "The file of saved chats is closed.")
        future: Future[T] = Future()
        self._jobs.put(lambda: _settle(future, job))
        return await _result_of(future)

    def _leave(self) -> "Future[None]":
        self._closed = True
        done: Future[None] = Future()
        self._jobs.put(lambda: _settle(done, self._close))
        self._jobs.put(None)
        return done

    def _open(self) -> None:
        steps = self._steps or shipped_migrations()
        self._opened = open_connection(self.path, steps, self.instances)

    def _close(self) -> None:
        if self._opened is not None:
            self._background_now()
            self._opened.connection.close()
            self._opened = None
        self.instances.leave()

    def _work(self) -> None:
        while True:
            wait_s = self._backlog.due_in(time.monotonic())
            try:
                job = self._jobs.get(timeout=None if wait_s is None else max(0.0, wait_s))
            except Empty:
                self._background_now()
                continue
            if job is None:
                return
            job()
            wait_s = self._backlog.due_in(time.monotonic())
            if wait_s is not None and wait_s <= 0:
                self._background_now()

    def _background_now(self) -> None:
        if self._opened is None:
            return
        try:
            self._backlog.run(self.write_now)
        except Exception:  # the thread must survive, or every caller would wait forever
            logger.exception("Saving in the background failed unexpectedly")


def _guarded(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:  # the thread must survive, or every caller would wait forever
        logger.exception("Work in the background failed unexpectedly")


def _settle(future: "Future[T]", job: Callable[[], T]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 -- it is raised where the job was submitted
        future.set_exception(error)


async def _result_of(future: "Future[T]") -> T:
    """Wait for a job, whose thread wakes the event loop itself: no other one waits for it."""
    done, loop = anyio.Event(), asyncio.get_running_loop()

    def wake(_future: "Future[T]") -> None:
        with suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(wake)
    await anyio.lowlevel.checkpoint_if_cancelled()
    with anyio.CancelScope(shield=True):
        await done.wait()
    return future.result()
