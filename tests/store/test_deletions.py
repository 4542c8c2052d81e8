"""Deleted chats and messages: gone from every list, restored as they were, and purged."""

import time
from itertools import count
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.deletions import KEPT_MS
from ollm_tui.store.journal import ConversationJournal
from tests.store.rig import SETTINGS, answered, asked, rows, save_chat

NOW = 1_800_000_000_000


async def texts(store: ConversationStore, chat: str, message: str | None = None) -> list[str]:
    stored = await store.load(chat, message_id=message)
    return [one.text for one in stored.history]


async def forked(store: ConversationStore) -> tuple[ConversationJournal, list[str]]:
    """Save `q a`, then `q2 a2`, and `q3 a3` beside them; gives the ids of all six."""
    journal = store.journal(SETTINGS)
    ids = [await journal.begin(asked("q")), await journal.begin(answered("a"))]
    for kept, number in ((2, 2), (2, 3)):
        journal.rewind(kept)
        ids.append(await journal.begin(asked(f"q{number}")))
        ids.append(await journal.begin(answered(f"a{number}")))
        await journal.finish(ids[-1], answered(f"a{number}"))
    return journal, ids


async def test_a_deleted_branch_is_gone_and_comes_back_whole(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        chat = journal.conversation_id
        deletion = await store.deletions.delete_messages(chat, ids[4])
        assert deletion is not None
        assert deletion.messages == 2
        assert await texts(store, chat) == ["q", "a", "q2", "a2"]
        assert len((await store.load(chat)).branches) == 1
        assert [(one.message_count, one.total_messages) for one in await store.list()] == [(4, 4)]
        record = await store.records.read(chat)
        assert record is not None
        assert [one.message.text for one in record.messages] == ["q", "a", "q2", "a2"]
        assert await store.deletions.undelete(chat) == deletion
        assert await texts(store, chat) == ["q", "a", "q3", "a3"]
        assert await store.deletions.undelete(chat) is None


async def test_deleting_all_messages_deletes_the_chat(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        deletion = await store.deletions.delete_messages(journal.conversation_id, ids[0])
        assert deletion is not None
        assert deletion.message_id is None
        assert await store.list() == ()
        await store.deletions.undelete(journal.conversation_id)
        assert await texts(store, journal.conversation_id) == ["q", "a", "q3", "a3"]


async def test_deletions_within_each_other_are_restored_one_by_one(path: Path) -> None:
    async with open_store(path) as store:
        chat = await save_chat(store, "one", "two", "three")
        ids = [message.id for message in (await store.load(chat)).messages]
        inner = await store.deletions.delete_messages(chat, ids[4])
        outer = await store.deletions.delete_messages(chat, ids[2])
        assert inner is not None
        assert outer is not None
        assert await store.deletions.listed(chat) == (outer, inner)
        await store.deletions.undelete(chat)
        assert await texts(store, chat) == ["one", "About one", "two", "About two"]
        await store.deletions.undelete(chat)
        assert len(await texts(store, chat)) == 6
        # The inner one alone brings back what it follows, too.
        inner = await store.deletions.delete_messages(chat, ids[4])
        await store.deletions.delete_messages(chat, ids[1])
        assert inner is not None
        await store.deletions.undelete(chat, inner.deleted_ms)
        assert len(await texts(store, chat)) == 6


async def test_what_another_program_continues_is_restored(path: Path) -> None:
    async with open_store(path) as mine, open_store(path) as theirs:
        chat = await save_chat(mine, "one", "two")
        journal = theirs.journal(SETTINGS, await theirs.load(chat))
        ids = [message.id for message in (await mine.load(chat)).messages]
        await mine.deletions.delete_messages(chat, ids[2])
        news = await theirs.news(journal)
        assert news is not None
        assert news.deleted_messages == 2
        assert await theirs.news(journal) is None
        await journal.begin(asked("three"))
        assert await texts(mine, chat) == ["one", "About one", "two", "About two", "three"]


async def test_what_was_purged_is_saved_anew_by_a_program_that_still_shows_it(path: Path) -> None:
    async with open_store(path) as mine, open_store(path) as theirs:
        chat = await save_chat(mine, "one", "two")
        journal = theirs.journal(SETTINGS, await theirs.load(chat))
        ids = [message.id for message in (await mine.load(chat)).messages]
        await mine.deletions.delete_messages(chat, ids[2])
        assert await mine.deletions.purge(0) == 2
        await journal.begin(asked("three"))
        assert journal.conversation_id != chat
        whole = ["one", "About one", "two", "About two", "three"]
        assert await texts(mine, journal.conversation_id) == whole
        assert await texts(mine, chat) == ["one", "About one"]
        # The chat itself can be continued where it ends now.
        again = theirs.journal(SETTINGS, await theirs.load(chat))
        await again.begin(asked("four"))
        assert await texts(mine, chat) == ["one", "About one", "four"]


async def test_an_answer_in_progress_keeps_its_branch_from_being_deleted(path: Path) -> None:
    async with open_store(path) as mine, open_store(path) as theirs:
        journal, ids = await forked(theirs)
        growing = await journal.begin(asked("q4"))
        await journal.begin(answered("a4"))
        with pytest.raises(AIError, match="this branch is being answered in another window"):
            await mine.deletions.delete_messages(journal.conversation_id, growing)
        deletion = await mine.deletions.delete_messages(journal.conversation_id, ids[2])
        assert deletion is not None
        assert deletion.messages == 2


async def test_deleted_chats_are_kept_for_thirty_days(path: Path) -> None:
    now = [NOW]
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        old, young = await save_chat(store, "old-secret"), await save_chat(store, "young")
        branch = await save_chat(store, "kept", "old-branch")
        await store.delete(old)
        ids = [message.id for message in (await store.load(branch)).messages]
        await store.deletions.delete_messages(branch, ids[2])
        now[0] += KEPT_MS
        await store.delete(young)
        now[0] += 1
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        for _ in range(10):  # a slice at a time, between what else is done
            listed = [one.conversation_id for one in await store.deletions.listed()]
        assert listed == [young]
        assert [one.id for one in await store.list()] == [branch]
    assert rows(path, "SELECT count(*) FROM messages") == [(4,)]
    content = path.read_bytes()
    assert b"old-secret" not in content
    assert b"old-branch" not in content
    assert rows(path, "PRAGMA foreign_key_check") == []


async def test_many_messages_are_purged_in_slices_that_are_whole(path: Path) -> None:
    numbers = count()
    async with open_store(path) as store:
        chat = await save_chat(store, *(f"{next(numbers)}" for _ in range(230)))
        await store.delete(chat)
        assert await store.deletions.purge(0) >= 460
        assert await store.deletions.listed() == ()
    assert rows(path, "SELECT count(*) FROM conversations") == [(0,)]


async def test_an_import_brings_back_what_was_deleted(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        chat = journal.conversation_id
        record = await store.records.read(chat)
        assert record is not None
        await store.deletions.delete_messages(chat, ids[2])
        (added,) = await store.records.add([record])
        assert (added.is_new, added.messages) == (False, 2)
        await store.delete(chat)
        (added,) = await store.records.add([record])
        assert (added.is_new, added.messages) == (True, 0)
        assert await store.records.read(chat) == record


async def test_the_branch_that_was_shown_is_the_one_that_opens(path: Path) -> None:
    now = [NOW]
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        journal, ids = await forked(store)
        chat = journal.conversation_id
        now[0] += 1
        other = store.journal(SETTINGS, await store.load(chat, message_id=ids[2]))
        await store.trees.show(other)
    async with open_store(path) as store:
        assert await texts(store, chat) == ["q", "a", "q2", "a2"]
        assert (await store.list())[0].message_count == 4
        journal = store.journal(SETTINGS, await store.load(chat, message_id=ids[4]))
        assert (await store.trees.siblings(journal)) == {2: (ids[2], ids[4])}


async def test_forks_that_were_read_with_a_chat_are_those_of_now(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        chat = journal.conversation_id
        opened = store.journal(SETTINGS, await store.load(chat))
        assert await store.trees.siblings(opened) == {2: (ids[2], ids[4])}
        opened.rewind(2)
        assert await store.trees.siblings(opened) == {}
        opened = store.journal(SETTINGS, await store.load(chat))
        journal.rewind(1)
        other = await journal.begin(answered("another a"))
        assert await store.trees.siblings(opened) == {
            1: (ids[1], other),
            2: (ids[2], ids[4]),
        }
        await store.deletions.delete_messages(chat, ids[2])
        assert await store.trees.siblings(opened) == {1: (ids[1], other)}
        await store.delete(chat)
        assert await store.trees.siblings(opened) == {}


async def test_a_fork_is_a_chat_of_its_own(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        chat = journal.conversation_id
        fresh = await store.trees.fork(chat, ids[3])
        assert await texts(store, fresh) == ["q", "a", "q2", "a2"]
        assert (await store.list())[0].title == "q (fork)"
        assert (await store.load(fresh)).settings.model == SETTINGS.model
        await store.deletions.delete_messages(chat, ids[0])
        await store.deletions.purge(0)
        assert await texts(store, fresh) == ["q", "a", "q2", "a2"]
        with pytest.raises(AIError, match="no longer exists"):
            await store.trees.fork(chat, ids[3])


async def test_the_tree_is_read_as_stretches_between_forks(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        lines = await store.trees.read(journal.conversation_id)
        assert [(one.message_id, one.end_id, one.level, one.messages) for one in lines] == [
            (ids[0], ids[1], 0, 2),
            (ids[2], ids[3], 1, 2),
            (ids[4], ids[5], 1, 2),
        ]
        assert [(one.role, one.words, one.is_last) for one in lines] == [
            ("user", "q", True),
            ("user", "q2", False),
            ("user", "q3", True),
        ]
        assert await store.trees.read("nowhere") == ()


@pytest.mark.slow
async def test_a_chat_with_five_hundred_forks_opens_as_fast_as_one_without(path: Path) -> None:
    async with open_store(path) as store:
        costs: dict[bool, float] = {}
        for has_forks in (False, True):
            journal = store.journal(SETTINGS)
            await journal.begin(asked("root"))
            chat, parent = journal.conversation_id, journal.path[0]
            await fill(store, chat, parent, has_forks=has_forks)
            best = min([await cost(store, chat) for _ in range(3)])
            costs[has_forks] = best
            assert len((await store.load(chat)).branches) == (501 if has_forks else 1)
    assert costs[True] <= 1.5 * costs[False] + 0.05


async def fill(store: ConversationStore, chat: str, root: str, *, has_forks: bool) -> None:
    """Add 5,000 messages: in one line, or 2,500 of them and 500 branches of five."""

    def work(connection: object) -> None:
        insert = (
            "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, 'user', 'complete', NULL, NULL, 0, ?,"
            ' \'{"role":"user","content":"x"}\', NULL)'
        )
        parent, line = root, 2500 if has_forks else 5000
        for number in range(line):
            own = f"{chat}-{number}"
            connection.execute(insert, (own, chat, parent, number + 2, number))  # type: ignore[attr-defined]
            parent = own
        for branch in range(500 if has_forks else 0):
            parent = f"{chat}-{5 * branch}"
            for step in range(5):
                own = f"{chat}-{branch}-{step}"
                depth = 5 * branch + 3 + step
                connection.execute(insert, (own, chat, parent, depth, 1))  # type: ignore[attr-defined]
                parent = own
        connection.execute(  # type: ignore[attr-defined]
            "UPDATE conversations SET leaf_id = ? WHERE id = ?", (f"{chat}-{line - 1}", chat)
        )

    await store._database.write(work)


async def cost(store: ConversationStore, chat: str) -> float:
    started = time.process_time()
    stored = await store.load(chat)
    journal = store.journal(SETTINGS, stored)
    await store.trees.siblings(journal)
    await store.branches(journal)
    return time.process_time() - started


async def test_forks_of_forks_are_numbered(path: Path) -> None:
    async with open_store(path) as store:
        journal, ids = await forked(store)
        first = await store.trees.fork(journal.conversation_id, ids[3])
        copied = [message.id for message in (await store.load(first)).messages]
        await store.trees.fork(first, copied[-1])
        await store.trees.fork(journal.conversation_id, ids[1])
        titles = {one.title for one in await store.list()}
        assert titles == {"q", "q (fork)", "q (fork 2)", "q (fork 3)"}
