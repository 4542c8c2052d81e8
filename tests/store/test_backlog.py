"""What waits to be written: only the newest form, at a bounded rate, until it is on the disk."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.backlog import PACE_S, RETRY_S, Backlog
from ollm_tui.store.migrate import migrate, shipped_migrations
from ollm_tui.store.rows import MessageRow, new_id
from tests.store.rig import SETTINGS, answered
from tests.support.clock import ManualClock

Work = Callable[[sqlite3.Connection], None]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made, shipped_migrations(), None)
        yield made


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(100.0)


@pytest.fixture
def backlog(clock: ManualClock) -> Backlog:
    return Backlog(clock)


def first_row(text: str = "a", chat: str = "chat") -> MessageRow:
    return MessageRow(
        id=f"id-{chat}",
        conversation_id=chat,
        parent_id=None,
        depth=1,
        message=answered(text),
        state="streaming",
        created_ms=1,
        updated_ms=1,
        settings=SETTINGS,
    )


def refuse(work: Work) -> None:
    raise AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full.")


def test_nothing_is_due_while_nothing_waits(backlog: Backlog, clock: ManualClock) -> None:
    assert backlog.due_in(clock.now) is None


def test_writes_keep_their_distance(
    backlog: Backlog, clock: ManualClock, connection: sqlite3.Connection
) -> None:
    written: list[float] = []

    def transact(work: Work) -> None:
        written.append(clock.now)
        work(connection)

    row = first_row()
    for step in range(1000):
        clock.now = 100 + step / 100
        row = row.grown(answered("x" * step + "y"), "streaming", step)
        backlog.put(row if step else first_row())
        due = backlog.due_in(clock.now)
        assert due is not None
        if due <= 0:
            backlog.run(transact)
            assert backlog.due_in(clock.now) is None
    assert 45 <= len(written) <= 51
    assert min(b - a for a, b in pairwise(written)) >= PACE_S - 0.001


def test_only_the_newest_form_is_written_and_its_conversation_with_it(
    backlog: Backlog, connection: sqlite3.Connection
) -> None:
    row = first_row()
    backlog.put(row)
    backlog.put(row.grown(answered("a b"), "streaming", 2))
    backlog.put(row.grown(answered("a b c"), "complete", 3))
    assert len(backlog) == 1
    backlog.save(lambda work: work(connection))
    assert len(backlog) == 0
    ((body, state),) = connection.execute("SELECT body, state FROM messages").fetchall()
    assert "a b c" in body
    assert state == "complete"
    assert connection.execute("SELECT leaf_id FROM conversations").fetchall() == [(row.id,)]


def test_what_grew_while_it_was_written_goes_on_waiting(
    backlog: Backlog, connection: sqlite3.Connection
) -> None:
    row = first_row()
    backlog.put(row)

    def transact(work: Work) -> None:
        work(connection)
        backlog.put(row.grown(answered("newer"), "streaming", 2))

    backlog.save(transact)
    assert len(backlog) == 1
    backlog.save(lambda work: work(connection))
    assert "newer" in str(connection.execute("SELECT body FROM messages").fetchone())


def test_what_failed_is_kept_and_tried_again_within_five_seconds(
    backlog: Backlog, clock: ManualClock, connection: sqlite3.Connection
) -> None:
    backlog.put(first_row())
    with pytest.raises(AIError, match="disk full"):
        backlog.save(refuse)
    assert backlog.problem is not None
    assert backlog.due_in(clock.now) == RETRY_S <= 5
    backlog.run(refuse)
    assert len(backlog) == 1
    backlog.run(lambda work: work(connection))
    assert backlog.problem is None
    assert len(backlog) == 0
    assert connection.execute("SELECT count(*) FROM messages").fetchone() == (1,)


def test_a_conversation_that_is_gone_is_dropped_and_the_others_are_written(
    backlog: Backlog, connection: sqlite3.Connection
) -> None:
    backlog.know("gone")
    backlog.put(first_row("lost", "gone"))
    backlog.put(first_row("kept", "here"))

    def transact(work: Work) -> None:
        connection.execute("BEGIN")
        try:
            work(connection)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    backlog.save(transact)
    assert backlog.deleted("gone") == "elsewhere"
    assert backlog.deleted("here") is None
    assert len(backlog) == 0
    assert connection.execute("SELECT id FROM conversations").fetchall() == [("here",)]


def test_forgetting_a_conversation_leaves_the_others_waiting(backlog: Backlog) -> None:
    backlog.put(first_row("a", "one"))
    backlog.put(first_row("b", "two"))
    backlog.forget("one")
    assert len(backlog) == 1
    assert backlog.deleted("two") is None


def test_ids_sort_by_their_time_and_never_repeat() -> None:
    ids = [new_id(1_700_000_000_000 + step) for step in range(500)]
    assert ids == sorted(ids)
    assert len({new_id(5) for _ in range(1000)}) == 1000
    assert all(name[14] == "7" and name[19] in "89ab" for name in ids)
