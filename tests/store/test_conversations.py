"""Chats are saved as they grow, branch, and come back as they were."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.store.rig import (
    SETTINGS,
    answered,
    asked,
    on_connection,
    open_parts,
    rows,
    save_chat,
)

if TYPE_CHECKING:
    from ollm_tui.protocol.ports import ChatJournal


async def test_a_chat_comes_back_as_it_was_saved(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "Why is the sky blue?", "And at night?")
    async with open_store(path) as store:
        chat = await store.load(chat_id)
    assert chat.history == [
        asked("Why is the sky blue?"),
        answered("About Why is the sky blue?"),
        asked("And at night?"),
        answered("About And at night?"),
    ]
    assert {message.state for message in chat.messages} == {"complete"}
    assert chat.title == "Why is the sky blue?"


async def test_a_chat_without_a_message_is_never_stored(path: Path) -> None:
    async with open_store(path) as store:
        store.journal(SETTINGS)
        assert await store.list() == ()
        assert await store.latest() is None
    assert rows(path, "SELECT * FROM conversations") == []


async def test_a_message_is_in_the_file_when_begin_returns(path: Path) -> None:
    async with open_store(path) as store:
        journal: ChatJournal = store.journal(SETTINGS)
        await journal.begin(asked("One"))
        assert rows(path, "SELECT role, state FROM messages") == [("user", "complete")]
        answer = await journal.begin(answered("T"))
        assert rows(path, "SELECT state FROM messages WHERE role = 'assistant'") == [("streaming",)]
        await journal.finish(answer, answered("Two"))
        ((body,),) = rows(path, "SELECT body FROM messages WHERE state = 'complete' AND depth = 2")
    assert "Two" in str(body)


@pytest.mark.parametrize("ended", ["stopped", "failed", "interrupted"])
async def test_how_an_answer_ended_is_its_state(path: Path, ended: str) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("Be"))
        await journal.finish(answer, answered("Beca", ended))
        stored = (await store.load(journal.conversation_id)).messages[-1]
    assert (stored.state, stored.message) == (ended, answered("Beca", ended))


async def test_an_answer_that_had_ended_when_it_was_begun_is_not_streaming(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await journal.begin(answered("Be", "stopped"))
        assert rows(path, "SELECT state FROM messages WHERE depth = 2") == [("stopped",)]


async def test_a_growing_answer_reaches_the_file_without_finish(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("a"))
        await journal.update(answer, answered("a b"))
        await journal.update(answer, answered("a b c"))
        with anyio.fail_after(5):
            while store.unsaved:
                await anyio.sleep(0.01)
        ((body,),) = rows(path, "SELECT body FROM messages WHERE state = 'streaming'")
    assert "a b c" in str(body)


async def test_leaving_the_store_writes_what_was_waiting(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("a"))
        await journal.update(answer, answered("a b"))
    ((body,),) = rows(path, "SELECT body FROM messages WHERE depth = 2")
    assert "a b" in str(body)


async def test_what_waits_is_written_before_a_chat_is_read(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("a"))
        await journal.update(answer, answered("a b"))
        assert (await store.load(journal.conversation_id)).history[-1].text == "a b"


async def test_a_finished_message_takes_no_update_of_a_stranger(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        with pytest.raises(AIError) as refused:
            await journal.update("nobody", asked())
    assert refused.value.code == ErrorCode.BAD_REQUEST


async def test_an_earlier_answer_can_be_finished_after_a_later_message_began(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        answer = await journal.begin(answered("calls"))
        await journal.begin(Message("tool", "42", name="f", tool_call_id="1"))
        await journal.finish(answer, answered("calls made"))
        chat = await store.load(journal.conversation_id)
    assert [message.text for message in chat.history] == ["calls made", "42"]


async def test_a_rewound_chat_goes_on_in_a_branch_and_keeps_the_old_one(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "Why?")
        chat = await store.load(chat_id)
        journal = store.journal(SETTINGS, chat)
        journal.rewind(1)
        answer = await journal.begin(answered("No"))
        await journal.finish(answer, answered("No idea."))
        again = await store.load(chat_id)
        (summary,) = await store.list()
    assert [message.text for message in again.history] == ["Why?", "No idea."]
    assert again.messages[0].id == chat.messages[0].id
    assert (summary.message_count, summary.total_messages) == (2, 3)
    parents = rows(path, "SELECT parent_id FROM messages WHERE role = 'assistant'")
    assert parents == [(chat.messages[0].id,)] * 2


@pytest.mark.parametrize("kept", [0, 2])
async def test_a_question_in_other_words_leaves_the_old_branch_in_the_file(
    path: Path, kept: int
) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        for question in ("one", "two", "three"):
            await journal.begin(asked(question))
            await journal.finish(await journal.begin(answered("to")), answered(f"to {question}"))
        before = await store.load(journal.conversation_id)
        journal.rewind(kept)
        assert len((await store.load(journal.conversation_id)).history) == 6
        await journal.begin(asked("other"))
        after = await store.load(journal.conversation_id)
    assert [m.text for m in after.history] == [m.text for m in before.history[:kept]] + ["other"]
    stored = rows(path, "SELECT id FROM messages")
    assert {one.id for one in before.messages} < {key for (key,) in stored}
    assert len(stored) == 7


async def test_a_loaded_chat_goes_on_where_it_ended(path: Path) -> None:
    async with open_store(path) as store:
        chat_id = await save_chat(store, "One")
    async with open_store(path) as store:
        journal = store.journal(SETTINGS, await store.load(chat_id))
        await journal.begin(asked("Two"))
        assert [m.text for m in (await store.load(chat_id)).history][-1] == "Two"
        assert len(await store.list()) == 1
        assert len(journal.path) == 3


@asynccontextmanager
async def waiting_prompt(path: Path) -> AsyncIterator[tuple[ConversationStore, str]]:
    """A chat on a full disk, with a prompt that waits to be saved; gives its id."""
    database, _, store = await open_parts(path)
    try:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await on_connection(database, "PRAGMA max_page_count = 1")
        with pytest.raises(AIError):
            await journal.begin(asked("word " * 20_000))
        assert store.unsaved == 1
        yield store, journal.conversation_id
    finally:
        await database.close()


async def test_what_waits_for_a_chat_stays_if_the_chat_does(path: Path) -> None:
    async with waiting_prompt(path) as (store, chat_id):
        with pytest.raises(AIError, match="Not deleted"):
            await store.delete(chat_id, revision=-1)
        assert store.unsaved == 1


async def test_what_waits_for_a_chat_goes_with_it(path: Path) -> None:
    async with waiting_prompt(path) as (store, chat_id):
        await store.delete(chat_id)
        assert store.unsaved == 0


async def test_a_chat_is_loaded_with_the_branch_of_a_message(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        journal = store.journal(SETTINGS)
        first = await journal.begin(asked("first"))
        left = [await journal.begin(asked(text)) for text in ("left", "left end")]
        journal.rewind(1)
        right = [await journal.begin(asked(text)) for text in ("right", "right end")]
        chat_id = journal.conversation_id
        for message_id, path in (
            (left[0], [first, *left]),
            (first, [first, *right]),  # on both: the one that was continued last
            (right[0], [first, *right]),
            ("gone", [first, *right]),
        ):
            loaded = await store.load(chat_id, message_id=message_id)
            assert [message.id for message in loaded.messages] == path
