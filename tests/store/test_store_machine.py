"""Two programs may do anything with the tree of one chat in any order, and nothing is lost.

`OLLM_SOAK=20` in the environment makes it twenty times as long.
"""

import asyncio
import json
import os
import random
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ollm_tui.exchange.document import document_pieces, read_document
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.store.rig import miscounted, rows
from tests.store.search.rig import by_index, by_reading, update
from tests.store.two_writers import (
    ACTS,
    Act,
    Program,
    Session,
    check,
    end_answer,
    exchange,
    go_on_with_last,
)
from tests.support.seeds import in_parts

SEQUENCES, STEPS, PARTS = 2_000, 30, 100
LONGER = int(os.environ.get("OLLM_SOAK", "1"))  # read before the tests' environment is cleaned


async def search(session: Session, program: Program) -> None:
    """Find a message that is shown, and the same messages as by reading all of them."""
    update(program.path)
    known = [one for one in program.journal.path if one in session.saved]
    if not known:
        return
    wanted = session.chance.choice(known)
    text = session.saved[wanted].text
    hits = by_index(program.path, text)
    assert hits == by_reading(program.path, text)
    is_growing = any(of.growing and of.growing[0] == wanted for of in session.programs)
    query = (
        "SELECT 1 FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id"
        " WHERE m.id = '{}' AND m.state <> 'streaming' AND c.deleted_ms IS NULL"
        " AND m.id NOT IN (SELECT message_id FROM deleted_messages)"
    )
    if rows(program.path, query.format(wanted)) and not is_growing:
        assert wanted in {hit.message_id for hit in hits}


async def export(session: Session, program: Program) -> None:
    """Write the open chat as a document, which reads as what was written."""
    record = await program.store.records.read(program.journal.conversation_id)
    if record is None:
        return
    text = "".join(document_pieces(record))
    assert read_document(json.loads(text)) == record
    ids = [one.id for one in record.messages]
    assert len(ids) == len(set(ids))
    if not session.hidden.intersection(program.journal.path):
        assert {*program.journal.path} <= {*ids}


async def rename(session: Session, program: Program) -> None:
    """Set a title, which the other program then lists."""
    chat, title = program.journal.conversation_id, f"title {session.chance.random()}"
    try:
        await program.store.rename(chat, title)
    except AIError as error:
        if error.code != ErrorCode.BAD_REQUEST:
            raise
        return
    for other in session.programs:
        listed = {one.id: one.title for one in await other.store.list(limit=1000)}
        assert listed[chat] == title


class StoreMachine(RuleBasedStateMachine):
    """The rules are all that the one or the other program does; see `ACTS`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.programs = [Program(name, path) for name in "AB"]
        self.session = Session(random.Random(0), self.programs)
        self.path = path

    def do(self, *steps: Callable[[], Coroutine[object, object, None]]) -> None:
        async def taken() -> None:
            for step in steps:
                await step()

        self.runner.run(taken())

    @initialize()
    def open_one_chat_twice(self) -> None:
        first, second = self.programs
        self.do(
            first.start,
            second.start,
            lambda: exchange(self.session, first),
            lambda: go_on_with_last(self.session, second),
        )

    @invariant()
    def what_is_shown_is_stored(self) -> None:
        if self.session.number:
            for program in self.programs:
                self.do(lambda program=program: self._look_at(program))  # type: ignore[misc]

    async def _look_at(self, program: Program) -> None:
        path = program.journal.path
        assert len(path) == len(set(path)) == len(program.texts)
        if not path or self.session.hidden.intersection(path):
            return
        try:
            stored = await program.store.load(program.journal.conversation_id, path[-1])
        except AIError:
            assert program.journal.conversation_id in self.session.deleted
            return
        assert [one.id for one in stored.messages] == [*path]
        texts = [one.message.text for one in stored.messages]
        if program.growing is not None:
            path, texts = path[:-1], texts[:-1]
        # An answer may have been opened while the other program was still writing it.
        assert all(its.startswith(text) for its, text in zip(texts, program.texts, strict=False))

    def teardown(self) -> None:
        """End what goes on, undo every deletion, and look for all that was acknowledged."""
        session = self.session
        try:
            if session.number:
                self.do(
                    *(
                        lambda program=program: end_answer(session, program)
                        for program in self.programs
                    ),
                    lambda: check(session),
                )
                assert session.problems == []
                assert rows(self.path, "PRAGMA integrity_check") == [("ok",)]
                assert rows(self.path, "PRAGMA foreign_key_check") == []
                assert miscounted(self.path) == []
        finally:
            if session.number:
                self.do(*(program.stop for program in self.programs))
            self.runner.close()


def rule_of(act: Act) -> Callable[[StoreMachine, int, random.Random], None]:
    """Return the rule by which one of the programs does something."""

    def step(machine: StoreMachine, program: int, chance: random.Random) -> None:
        machine.session.chance = chance
        machine.do(lambda: act(machine.session, machine.programs[program]))

    step.__name__ = act.__name__
    chances = st.randoms(use_true_random=False)
    return rule(program=st.sampled_from([0, 1]), chance=chances)(step)


for one in {act.__name__: act for act in (*ACTS, search, export, rename)}.values():
    setattr(StoreMachine, one.__name__, rule_of(one))


@in_parts(PARTS)
def test_nothing_is_lost_or_hidden_whatever_two_programs_do(tmp_path: Path, part: int) -> None:
    files = (tmp_path / f"{number}.db" for number in count())

    class OnFile(StoreMachine):
        def __init__(self) -> None:
            super().__init__(next(files))

    run_state_machine_as_test(
        OnFile,
        settings=settings(
            max_examples=SEQUENCES // PARTS * LONGER,
            stateful_step_count=STEPS,
            deadline=None,
            # The usual run is the same each time; the other parts try others, also where CI is set.
            derandomize=part == 0,
            suppress_health_check=[*HealthCheck],
        ),
    )
