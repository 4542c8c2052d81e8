"""Deletions are undone in one order, whichever front end asks, and what is much is known."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ollm_tui.frontend.deletions import ChatDeletions, OpenChatDeletions
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.saved.chats import SavedChats, chat_filter
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.deletions import Deletion
from ollm_tui.store.journal import ConversationJournal
from tests.store.rig import SETTINGS, answered, asked, save_chat


async def message_ids(store: ConversationStore, chat: str) -> list[str]:
    return [one.id for one in (await store.load(chat)).messages]


async def test_the_open_chat_comes_first_then_the_newest_of_all(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        saved = SavedChats(store)
        mine, other = await save_chat(store, "a", "b"), await save_chat(store, "c")
        third = await save_chat(store, "d", "e")
        own = await saved.delete_messages(mine, (await message_ids(store, mine))[2])
        part = await saved.delete_messages(third, (await message_ids(store, third))[2])
        whole = await saved.delete(other)
        chats = ChatDeletions(saved)
        assert [await chats.undo(mine) for _ in range(4)] == [own, whole, part, None]
        whole = await saved.delete(other)
        await saved.delete_messages(third, (await message_ids(store, third))[2])
        assert await chats.undo_chat() == whole
        assert await chats.undo_chat() is None


async def test_what_another_program_has_restored_meanwhile_is_passed_over(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        saved = SavedChats(store)
        old, new = await save_chat(store, "a"), await save_chat(store, "b")
        deleted = [await saved.delete(one) for one in (old, new)]

        class Stale(SavedChats):
            async def deletions(self, chat_id: str | None = None) -> tuple[Deletion, ...]:
                listed = await store.deletions.listed(chat_id)
                await store.deletions.undelete(new)
                return listed

        assert await ChatDeletions(Stale(store)).undo(None) == deleted[0]


async def test_deleted_chats_are_listed_by_their_deletion_with_a_preview(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        saved = SavedChats(store)
        first, second = await save_chat(store, "sky"), await save_chat(store, "sea")
        await save_chat(store, "kept")
        await saved.pin(first)
        await saved.archive(second)
        for one in (first, second):
            await saved.delete(one)
        numbers = await saved.order(chat_filter("", is_deleted=True)[0], "changed")
        rows = await saved.rows(numbers, is_deleted=True)
        assert [rows[one].id for one in numbers] == [second, first]
        assert all(row.deleted_ms for row in rows.values())
        assert await saved.rows(numbers) == {}
        assert (await saved.preview(first)).messages == ()
        assert len((await saved.preview(first, is_deleted=True)).messages) == 2
        assert len(await saved.order(chat_filter("sk", is_deleted=True)[0], "title")) == 1


async def branched(store: ConversationStore) -> tuple[ConversationJournal, list[str]]:
    """Save `q a`, `q2 a2` after it, and another answer to `q2`."""
    journal = store.journal(SETTINGS)
    ids = [await journal.begin(asked("q")), await journal.begin(answered("a"))]
    ids += [await journal.begin(asked("q2")), await journal.begin(answered("a2"))]
    journal.rewind(3)
    ids.append(await journal.begin(answered("other")))
    await journal.finish(ids[-1], answered("other"))
    return journal, ids


async def test_a_question_is_needed_for_more_than_one_exchange(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        journal, ids = await branched(store)
        runtime: Any = SimpleNamespace(
            saved=SavedChats(store), chat_id=lambda _: journal.conversation_id
        )
        chat = OpenChatDeletions(SimpleNamespace(runtime=runtime, client=None))  # type: ignore[arg-type]
        extents = [await chat.must_ask(one) for one in ids]
        figures = [one and (one.messages, one.exchanges, one.is_chat) for one in extents]
        whole, rest, versions = (5, 2, True), (4, 2, False), (3, 2, False)
        assert figures == [whole, rest, versions, None, None]
        assert await chat.must_ask("gone") is None
        runtime.saved = None
        with pytest.raises(AIError, match="not saved here"):
            await chat.must_ask(ids[0])
