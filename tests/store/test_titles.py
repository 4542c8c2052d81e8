"""Saved chats are listed newest first, titled, renamed and deleted."""

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store import statements
from ollm_tui.store.branches import ChatNews
from ollm_tui.store.conversations import open_store
from tests.store.rig import (
    SETTINGS,
    answered,
    asked,
    change,
    open_parts,
    rows,
    save_chat,
)

T = TypeVar("T")


async def test_the_list_has_the_newest_chat_first_and_comes_in_pages(path: Path) -> None:
    ticks = count(1_700_000_000_000)
    async with open_store(path, clock_ms=lambda: next(ticks)) as store:
        for name in "abcde":
            await save_chat(store, name)
        first, second = await store.list(limit=2), await store.list(limit=2, offset=2)
        latest = await store.latest()
    assert [summary.title for summary in (*first, *second)] == ["e", "d", "c", "b"]
    assert latest == first[0]
    assert latest.message_count == 2
    assert latest.model == "local://tiny"
    assert latest.updated_ms > 1_700_000_000_000


async def test_the_list_is_read_from_an_index_and_never_sorted(path: Path) -> None:
    async with open_store(path):
        pass
    plan = str(rows(path, f"EXPLAIN QUERY PLAN {statements.LIST.replace('?', '9')}"))
    assert "conversations_by_update" in plan
    assert "TEMP B-TREE" not in plan


async def test_writing_to_an_old_chat_brings_it_to_the_front(path: Path) -> None:
    ticks = count(1)
    async with open_store(path, clock_ms=lambda: next(ticks)) as store:
        old = await save_chat(store, "old")
        await save_chat(store, "new")
        await store.journal(SETTINGS, await store.load(old)).begin(asked("again"))
        latest = await store.latest()
    assert latest is not None
    assert latest.id == old


async def test_a_title_is_the_first_line_of_the_first_question(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(Message("system", "Be brief."))
        assert [summary.title for summary in await store.list()] == [""]
        await journal.begin(asked("  Na\0me\ud800 it \n please"))
        await journal.begin(asked("Another"))
        assert [summary.title for summary in await store.list()] == ["Na�me� it"]


async def test_a_name_given_by_a_person_stays(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "Question")
        await store.rename(chat_id, " Mine\0 ")
        await store.journal(SETTINGS, await store.load(chat_id)).begin(asked("More"))
        assert (await store.load(chat_id)).title == "Mine�"
    assert rows(path, "SELECT title_by FROM conversations") == [("person",)]


async def test_renaming_an_open_chat_is_news_to_others_only(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "Question")
        mine, other = [store.journal(SETTINGS, await store.load(chat_id)) for _ in range(2)]
        await store.rename(chat_id, " Mine\0 ", watch=mine.watch)
        assert await store.news(mine) is None
        reported = await store.news(other)
        assert reported is not None
        assert reported.title == "Mine�"
        assert (await store.load(chat_id)).state.is_renamed
        with pytest.raises(AIError, match="no such chat"):
            await store.rename("never saved", "Title", watch=mine.watch)
        assert mine.watch.title == "Mine�"


async def test_renaming_while_a_look_is_under_way_is_no_news(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(path) as store:
        mine = store.journal(SETTINGS, await store.load(await save_chat(store, "Question")))
        await store.rename(mine.conversation_id, "First", watch=mine.watch)
        read, was_read, may_go_on = store._database.read, anyio.Event(), anyio.Event()

        async def read_slowly(work: Callable[[sqlite3.Connection], T]) -> T:
            result = await read(work)
            was_read.set()
            await may_go_on.wait()
            return result

        monkeypatch.setattr(store._database, "read", read_slowly)
        reported: list[ChatNews | None] = []

        async def look() -> None:
            reported.append(await store.news(mine))

        async def rename() -> None:
            await store.rename(mine.conversation_id, "Second", watch=mine.watch)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            await was_read.wait()
            tasks.start_soon(rename)
            await anyio.wait_all_tasks_blocked()
            await store._database.run(lambda: None)  # what was asked of the file before is done
            may_go_on.set()
        reported.append(await store.news(mine))
        assert reported == [None, None]
        assert (await store.load(mine.conversation_id)).title == "Second"


async def test_a_chat_that_was_renamed_keeps_its_title_when_it_is_saved_anew(path: Path) -> None:
    async with open_store(path) as store, open_store(path) as other:
        mine, theirs = store.journal(SETTINGS), store.journal(SETTINGS)
        for journal in (mine, theirs):
            await journal.begin(asked("Question"))
        await store.rename(mine.conversation_id, "Mine", watch=mine.watch)
        await other.rename(theirs.conversation_id, "Theirs")
        assert await store.news(theirs) == ChatNews(title="Theirs")
        assert await store.news(mine) is None
        for journal in (mine, theirs):
            await other.delete(journal.conversation_id)
            await journal.begin(asked("More"))
            assert await store.news(journal) == ChatNews(is_saved_anew=True)
            assert await store.news(journal) is None
            assert (await store.load(journal.conversation_id)).state.is_renamed
        assert {summary.title for summary in await store.list()} == {"Mine", "Theirs"}
        again = store.journal(SETTINGS, await store.load(mine.conversation_id))
        await other.delete(mine.conversation_id)
        await again.begin(asked("Even more"))
        assert (await store.load(again.conversation_id)).title == "Mine"


async def test_a_deleted_chat_is_gone_from_the_file(path: Path) -> None:
    async with open_store(path) as store:
        kept, gone = await save_chat(store, "keep this"), await save_chat(store, "forget-this")
        await store.delete(gone)
        assert [summary.id for summary in await store.list()] == [kept]
        with pytest.raises(AIError, match="no such chat"):
            await store.load(gone)
        await store.deletions.purge(0)
    assert rows(path, "SELECT count(*) FROM messages") == [(2,)]
    assert b"forget-this" not in path.read_bytes()  # overwritten, not only unlinked
    assert b"keep this" in path.read_bytes()


async def test_a_chat_of_five_thousand_messages_is_read_and_deleted(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "root")
    (root,) = rows(path, "SELECT id FROM messages WHERE depth = 2")
    fill = f"""
        WITH RECURSIVE n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO messages SELECT NULL, 'm' || i, '{chat_id}',
          CASE i WHEN 3 THEN '{root[0]}' ELSE 'm' || (i - 1) END, i, 'user', 'complete',
          NULL, NULL, 0, 0, '{{"role":"user","content":"x"}}', NULL FROM n
    """
    database, _, store = await open_parts(path)
    try:
        await change(database, fill)
        await change(database, "UPDATE conversations SET leaf_id = 'm5000'")
        assert len((await store.load(chat_id)).messages) == 5000
        assert (await store.list())[0].message_count == 5000
        await store.delete(chat_id)
        assert await store.deletions.purge(0) >= 5000
    finally:
        await database.close()
    assert rows(path, "SELECT count(*) FROM messages") == [(0,)]


async def test_a_chat_that_another_program_deleted_goes_on_as_a_new_one(path: Path) -> None:
    async with open_store(path) as store, open_store(path) as other:
        mine, theirs = store.journal(SETTINGS), store.journal(SETTINGS)
        await mine.begin(asked("mine"))
        await theirs.begin(asked("theirs"))
        growing = await mine.begin(answered("g"))
        old_id = mine.conversation_id
        with pytest.raises(AIError, match="is being answered in another window"):
            await other.delete(old_id)
        await change(store._database, "DELETE FROM conversations WHERE id = ?", old_id)
        await mine.update(growing, answered("gr"))
        await theirs.begin(asked("more"))  # this drops what waits for the chat that is gone
        await mine.finish(growing, answered("grown"))
        await mine.begin(asked("kept"))
        assert mine.conversation_id != old_id
        texts = [m.text for m in (await other.load(mine.conversation_id)).history]
        assert texts == ["mine", "grown", "kept"]
        assert {summary.title for summary in await store.list()} == {"mine", "theirs"}
        assert store.unsaved == 0
        assert await store.news(mine) == ChatNews(is_saved_anew=True)
        assert await store.news(mine) is None


async def test_nothing_is_deleted_that_was_added_since_the_list_was_shown(path: Path) -> None:
    async with open_store(path) as store, open_store(path) as other:
        journal = store.journal(SETTINGS)
        await journal.begin(asked("seen"))
        (listed,) = await other.list()
        await journal.begin(asked("not seen"))
        with pytest.raises(AIError, match="was changed since it was listed") as refused:
            await other.delete(listed.id, listed.revision)
        assert refused.value.code == ErrorCode.CONFLICT
        (listed,) = await other.list()
        await other.delete(listed.id, listed.revision)
        assert await other.list() == ()
        assert await store.news(journal) == ChatNews(is_deleted=True)
        assert await store.news(journal) is None


async def test_a_chat_that_is_gone_cannot_be_renamed(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "q")
        await store.delete(chat_id)
        with pytest.raises(AIError, match="no such chat"):
            await store.rename(chat_id, "title")


async def test_deleting_the_open_chat_stops_its_journal(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await store.delete(journal.conversation_id)
        with pytest.raises(AIError, match="deleted"):
            await journal.begin(asked("more"))
        assert await store.list() == ()
