"""Two programs at one file that do what people do, in an order drawn from a seed.

Each `Program` is a store of its own with a chat open; `Session` draws what they do, by turns or at
the same time, and notes what was acknowledged. `check` looks at the file in the end.
"""

import random
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store import statements
from ollm_tui.store.backlog import Backlog
from ollm_tui.store.conversations import ConversationStore, _mark_interrupted
from ollm_tui.store.database import Database
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.rows import ConversationSettings
from tests.store.rig import answered, asked, on_connection, rows

Act = Callable[["Session", "Program"], Coroutine[object, object, None]]


@dataclass
class Saved:
    """A message that was acknowledged."""

    chat: str
    text: str
    model: str | None


class Settings:
    """What a person sets in the open chat."""

    def __init__(self) -> None:
        self.now = ConversationSettings(model="local://tiny")

    def __getattr__(self, name: str) -> object:
        return getattr(self.now, name)


@dataclass
class Program:
    """One running program."""

    name: str
    path: Path
    database: Database = field(init=False)
    store: ConversationStore = field(init=False)
    journal: ConversationJournal = field(init=False)
    settings: Settings = field(default_factory=Settings)
    texts: list[str] = field(default_factory=list)
    """What is on the screen."""
    growing: tuple[str, str] | None = None
    """Id and text of the answer that is coming."""
    listed: dict[str, tuple[int, set[str]]] = field(default_factory=dict)
    """The list as it was shown: revision, and the messages that each chat had then."""
    opened_with: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    reported: int = 0
    reported_deleted: bool = False

    async def start(self) -> None:
        backlog = Backlog()
        self.database = await Database.open(self.path, None, backlog)
        backlog.writer = self.database.instances.own
        # What is cut off here is a connection, not the power: nothing has to reach the disk.
        await on_connection(self.database, "PRAGMA synchronous = OFF")
        await _mark_interrupted(self.database)
        self.store = ConversationStore(self.database, backlog)
        await self.go_on(None)

    async def go_on(self, chat: str | None, leaf: str | None = None) -> None:
        """Open a branch of a chat; None is a new chat."""
        self.growing, self.reported, self.reported_deleted = None, 0, False
        self.written, self.opened_with, self.texts = set(), set(), []
        if chat is None:
            self.journal = self.store.journal(self.settings)  # type: ignore[arg-type]
            return
        stored = await self.store.load(chat, leaf)
        self.settings.now = stored.settings
        self.texts = [message.text for message in stored.history]
        self.opened_with = {node.id for node in stored.state.nodes}
        self.journal = self.store.journal(self.settings, stored)  # type: ignore[arg-type]

    async def reopen(self) -> None:
        """Open the same chat again, which the other one may have deleted."""
        try:
            await self.go_on(self.journal.conversation_id)
        except AIError as error:
            if error.code != ErrorCode.BAD_REQUEST:
                raise
            await self.go_on(None)

    async def stop(self) -> None:
        await self.database.close()

    async def kill(self) -> None:
        """End as by SIGKILL: nothing is written any more and the kernel drops the locks."""
        database = self.database

        def cut() -> None:
            assert database._opened is not None
            database._opened.connection.close()
            database._opened = None

        await database.run(cut)
        await database.close()


@dataclass
class Session:
    """What two programs have done so far."""

    chance: random.Random
    programs: list[Program]
    saved: dict[str, Saved] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    newest: dict[str, str] = field(default_factory=dict)
    """The message begun last in each chat; none where that is not known."""
    problems: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    """Messages that were deleted, and may have been restored since."""
    was_purged: bool = False
    number: int = 0
    at_once: bool = False

    def acknowledged(self, program: Program, message_id: str, text: str) -> None:
        chat, known = program.journal.conversation_id, self.saved.get(message_id)
        # What is set while an answer comes counts from the next message on.
        model = known.model if known is not None else program.settings.now.model
        self.saved[message_id] = Saved(chat, text, model)
        if self.at_once:
            self.newest.pop(chat, None)
        else:
            self.newest[chat] = message_id
        if program.journal.watch.is_saved_anew:  # the rest of the screen was saved again with it
            program.opened_with, program.reported = set(), 0
            for one, shown in zip(program.journal.path, program.texts, strict=True):
                self.saved.setdefault(one, Saved(chat, shown, program.settings.now.model))
                program.written.add(one)
        program.written.add(message_id)

    def of(self, chat: str) -> set[str]:
        return {one for one, saved in self.saved.items() if saved.chat == chat}

    async def run(self, steps: int) -> None:
        for _ in range(steps):
            first, second = self.programs
            self.at_once = self.chance.random() < 0.3
            if self.at_once:
                one, two = self._draw(), self._draw()
                async with anyio.create_task_group() as group:
                    group.start_soon(one, self, first)
                    group.start_soon(two, self, second)
            else:
                await self._draw()(self, self.chance.choice(self.programs))

    def _draw(self) -> Act:
        return self.chance.choices(list(ACTS), list(ACTS.values()))[0]


async def ask(session: Session, program: Program) -> None:
    if program.growing is not None:
        await end_answer(session, program)
    session.number += 1
    text = f"q{session.number}"
    program.texts.append(text)
    session.acknowledged(program, await program.journal.begin(asked(text)), text)


async def begin_answer(session: Session, program: Program) -> None:
    if program.growing is not None or not program.texts:
        return
    session.number += 1
    text = f"a{session.number}"
    program.texts.append(text)
    program.growing = (await program.journal.begin(answered(text)), text)
    session.acknowledged(program, program.journal.path[-1], text)


async def grow(session: Session, program: Program) -> None:
    if program.growing is not None:
        message_id, text = program.growing
        await program.journal.update(message_id, answered(text))


async def end_answer(session: Session, program: Program) -> None:
    if program.growing is None:
        return
    (message_id, text), program.growing = program.growing, None
    text += " whole"
    program.texts[-1] = text
    await program.journal.finish(message_id, answered(text))
    if program.journal.watch.is_saved_anew:
        session.acknowledged(program, program.journal.path[-1], text)
    session.saved[program.journal.path[-1]].text = text


async def stop_answer(session: Session, program: Program) -> None:
    if program.growing is None:
        return
    (message_id, text), program.growing = program.growing, None
    await program.journal.finish(message_id, answered(text, "stopped"))
    if program.journal.watch.is_saved_anew:
        session.acknowledged(program, program.journal.path[-1], text)


async def exchange(session: Session, program: Program) -> None:
    await ask(session, program)
    await begin_answer(session, program)
    await end_answer(session, program)


async def go_back(session: Session, program: Program) -> None:
    """Edit or retry: what came after goes from the screen, then something is asked."""
    await end_answer(session, program)
    kept = session.chance.randrange(len(program.texts) + 1)
    program.journal.rewind(kept)
    del program.texts[kept:]
    await ask(session, program)


async def compact(session: Session, program: Program) -> None:
    """Go on with a summary in the place of some messages, and repeat those behind it."""
    await end_answer(session, program)
    if len(program.texts) < 2:
        return
    try:
        stored = await program.store.load(program.journal.conversation_id, program.journal.path[-1])
    except AIError as error:  # the other one has just deleted it
        if error.code != ErrorCode.BAD_REQUEST:
            raise
        return
    if [one.id for one in stored.messages] != [*program.journal.path]:
        return
    kept = session.chance.randrange(len(program.texts))
    session.number += 1
    summary = f"c{session.number}"
    rest = [one.message for one in stored.messages[kept:]]
    program.texts[kept:] = [summary, *(message.text for message in rest)]
    await program.journal.branch(kept, [asked(summary), *rest])
    shown = zip(program.journal.path[kept:], program.texts[kept:], strict=True)
    for one, text in shown:
        session.acknowledged(program, one, text)


async def mark(session: Session, program: Program) -> None:
    if program.journal.path:
        one = session.chance.choice(program.journal.path)
        await program.store.marks.set(one, is_marked=session.chance.random() < 0.7)


async def change_settings(session: Session, program: Program) -> None:
    session.number += 1
    program.settings.now = replace(
        program.settings.now, model=f"local://m{session.number}", system_prompt=program.name
    )


async def rename(session: Session, program: Program) -> None:
    try:
        await program.store.rename(program.journal.conversation_id, f"by {program.name}")
    except AIError as error:
        if error.code != ErrorCode.BAD_REQUEST:
            raise


async def list_chats(session: Session, program: Program) -> None:
    program.listed = {}
    for chat in await program.store.list(limit=1000):
        # What the other one has just written is listed before it is told that it is saved.
        read = partial(statements.chat_state, conversation_id=chat.id)
        state = await program.database.read(read)
        is_same = state is not None and state.revision == chat.revision
        listed = {node.id for node in state.nodes} if state and is_same else session.of(chat.id)
        program.listed[chat.id] = (chat.revision, listed)


async def delete(session: Session, program: Program) -> None:
    others = sorted(program.listed.keys() - {program.journal.conversation_id})
    if not others:
        return
    chat = session.chance.choice(others)
    revision, seen = program.listed.pop(chat)
    hidden = _hidden(program, chat)
    try:
        await program.store.delete(chat, revision)
    except AIError as error:
        if error.details["reason"] != "changed":
            raise
        return
    session.deleted.add(chat)
    unseen = session.of(chat) - seen - hidden
    if unseen and not session.at_once:
        session.problems.append(f"deleted without having been seen: {unseen}")
    for one in session.of(chat):
        if not session.at_once or one in seen:
            del session.saved[one]


def _hidden(program: Program, chat: str) -> set[str]:
    """Return the messages of a chat that were deleted before, and are not listed."""
    query = f"SELECT message_id FROM deleted_messages WHERE conversation_id = '{chat}'"
    return {str(one) for (one,) in rows(program.path, query)}


async def go_on_with_last(session: Session, program: Program) -> None:
    await end_answer(session, program)
    last = await program.store.latest()
    if last is not None:
        try:
            await program.go_on(last.id)
        except AIError as error:  # the other one has just deleted it
            if error.code != ErrorCode.BAD_REQUEST:
                raise


async def go_to_branch(session: Session, program: Program) -> None:
    await end_answer(session, program)
    found = await program.store.branches(program.journal)
    if found:
        leaf = session.chance.choice(found).leaf_id
        try:
            await program.go_on(program.journal.conversation_id, leaf)
        except AIError as error:
            if error.code != ErrorCode.BAD_REQUEST:
                raise


async def delete_branch(session: Session, program: Program) -> None:
    await end_answer(session, program)
    journal = program.journal
    if len(journal.path) < 2:
        return
    chat = journal.conversation_id
    at = session.chance.randrange(1, len(journal.path))
    try:
        deletion = await program.store.deletions.delete_messages(chat, journal.path[at])
    except AIError as error:
        if error.details["reason"] != "changed":
            raise
        return
    session.newest.pop(chat, None)
    marked = _hidden(program, chat)
    if deletion is not None and not session.at_once and journal.path[at] not in marked:
        session.problems.append(f"{journal.path[at]} was deleted and is not")
    session.hidden |= marked | {*journal.path[at:]}
    if session.at_once and session.was_purged:  # the other one may just have purged them
        _forget_purged(session, program)
    await program.reopen()


async def undelete(session: Session, program: Program) -> None:
    await end_answer(session, program)
    chat = program.journal.conversation_id
    deletion = await program.store.deletions.undelete(chat)
    if deletion is not None:
        session.newest.pop(chat, None)
        await program.reopen()


async def purge(session: Session, program: Program) -> None:
    await program.store.deletions.purge(0)
    session.was_purged = True
    _forget_purged(session, program)


def _forget_purged(session: Session, program: Program) -> None:
    """Expect no longer what was deleted and is gone from the file."""
    left = {str(one) for (one,) in rows(program.path, "SELECT id FROM messages")}
    for one in session.hidden - left:
        session.saved.pop(one, None)


async def show_branch(session: Session, program: Program) -> None:
    await go_to_branch(session, program)
    session.newest.pop(program.journal.conversation_id, None)
    await program.store.trees.show(program.journal)


async def fork(session: Session, program: Program) -> None:
    await end_answer(session, program)
    path = program.journal.path
    if not path:
        return
    at = session.chance.randrange(len(path))
    models = [saved.model if (saved := session.saved.get(one)) else None for one in path]
    try:
        fresh = await program.store.trees.fork(program.journal.conversation_id, path[at])
    except AIError as error:  # the other one has just deleted it
        if error.code != ErrorCode.BAD_REQUEST:
            raise
        return
    await program.go_on(fresh)
    for one, text, model in zip(program.journal.path, program.texts, models, strict=False):
        if model is not None:
            session.saved[one] = Saved(fresh, text, model)
        program.written.add(one)


async def begin_anew(session: Session, program: Program) -> None:
    await end_answer(session, program)
    await program.go_on(None)


async def look(session: Session, program: Program) -> None:
    news = await program.store.news(program.journal)
    if news is not None:
        program.reported += news.messages
        program.reported_deleted |= news.is_deleted


async def quit_and_start(session: Session, program: Program) -> None:
    await end_answer(session, program)
    await program.stop()
    await program.start()


async def kill_and_start(session: Session, program: Program) -> None:
    program.growing = None
    await program.kill()
    await program.start()


ACTS: dict[Act, int] = {
    ask: 5,
    begin_answer: 4,
    grow: 2,
    end_answer: 4,
    stop_answer: 1,
    exchange: 4,
    go_back: 4,
    compact: 2,
    mark: 1,
    change_settings: 2,
    rename: 2,
    list_chats: 4,
    delete: 3,
    go_on_with_last: 8,
    go_to_branch: 4,
    delete_branch: 3,
    undelete: 2,
    purge: 1,
    show_branch: 2,
    fork: 1,
    begin_anew: 1,
    look: 4,
    quit_and_start: 1,
    kill_and_start: 1,
}


async def interleave(path: Path, seed: int, steps: int = 16) -> list[str]:
    """Let two programs do what the seed says; gives what is wrong afterwards."""
    programs = [Program("A", path), Program("B", path)]
    session = Session(random.Random(seed), programs)
    async with AsyncExitStack() as stack:
        for program in programs:
            await program.start()
            stack.push_async_callback(program.stop)
        await exchange(session, programs[0])
        await go_on_with_last(session, programs[1])
        await session.run(steps)
        for program in programs:
            await end_answer(session, program)
        await check(session)
    return session.problems


async def check(session: Session) -> None:
    """Look for what was acknowledged, in the branches that a person can go to.

    What was deleted has to come back once each deletion is undone.
    """
    store = session.programs[0].store
    await _undelete_all(session, store)
    reached: dict[str, str] = {}
    for chat in await store.list(limit=1000):
        stored = await store.load(chat.id)
        await _check_chat(session, store, chat.id, reached)
        shown = stored.messages[-1].id
        if stored.branches[0].leaf_id != shown and chat.id in session.newest:
            session.problems.append(f"{chat.id}: not the branch that was continued last")
        if session.newest.get(chat.id, shown) != shown:
            session.problems.append(f"{chat.id}: {shown} is shown and not the newest message")
    for one, saved in session.saved.items():
        if saved.chat in session.deleted:
            continue
        if reached.get(one) != saved.text:
            session.problems.append(f"{one} {saved}: reached {reached.get(one)!r}")
    for program in session.programs:
        await _check_reported(session, program)


async def _undelete_all(session: Session, store: ConversationStore) -> None:
    seen: dict[str, str] = {}
    for chat in await store.list(limit=1000):
        await _check_chat(session, store, chat.id, seen)
        while await store.deletions.undelete(chat.id) is not None:
            session.newest.pop(chat.id, None)
    for one, saved in session.saved.items():
        if saved.chat not in session.deleted and one not in session.hidden and one not in seen:
            session.problems.append(f"{one} {saved}: hidden without having been deleted")


async def _check_chat(
    session: Session, store: ConversationStore, chat: str, reached: dict[str, str]
) -> None:
    stored = await store.load(chat)
    for branch in stored.branches:
        path = await store.load(chat, branch.leaf_id)
        if path.messages[-1].id != branch.leaf_id or len(path.messages) != branch.length:
            session.problems.append(f"{chat}: a branch is not the one that was listed")
        reached.update((message.id, message.message.text) for message in path.messages)
        known = session.saved.get(branch.leaf_id)
        if known is not None and path.settings.model != known.model:
            session.problems.append(f"{chat}: the settings of another branch")
    if {node.id for node in stored.state.nodes} - reached.keys():
        session.problems.append(f"{chat}: some messages are on no branch")


async def _check_reported(session: Session, program: Program) -> None:
    for _ in range(3):
        await look(session, program)
    if not program.journal.path:
        return
    try:
        stored = await program.store.load(program.journal.conversation_id)
    except AIError:
        if not program.reported_deleted:
            session.problems.append(f"{program.name} was not told that its chat was deleted")
        return
    ids = {node.id for node in stored.state.nodes}
    if session.was_purged and not ids.issuperset(program.journal.path):
        return
    foreign = ids - program.opened_with - program.written
    if not session.was_purged and program.reported != len(foreign):
        session.problems.append(
            f"{program.name} was told of {program.reported}, not {len(foreign)}"
        )
    saved = await _texts(program)  # an answer may have been opened while the other one wrote it
    if not all(its.startswith(shown) for its, shown in zip(saved, program.texts, strict=True)):
        session.problems.append(f"{program.name} shows what is not saved")


async def _texts(program: Program) -> list[str]:
    stored = await program.store.load(program.journal.conversation_id, program.journal.path[-1])
    return [message.message.text for message in stored.messages]


async def write_until_killed(path: Path, seed: int) -> None:
    """Be one of several processes at a file; a line is printed for each message that is saved."""
    program = Program(f"P{seed}", path)
    session = Session(random.Random(seed), [program])
    session.number = seed * 100_000
    await program.start()
    printed: set[str] = set()
    acts: list[Act] = [exchange, exchange, go_back, change_settings, go_on_with_last, go_to_branch]
    acts += [show_branch, fork]
    while True:
        await session.chance.choice(acts)(session, program)
        for one in session.saved.keys() - printed:
            saved = session.saved[one]
            sys.stdout.write(f"SAVED {saved.chat} {one} {saved.text}\n")
        sys.stdout.flush()
        printed = set(session.saved)


if __name__ == "__main__":
    anyio.run(write_until_killed, Path(sys.argv[1]), int(sys.argv[2]))
