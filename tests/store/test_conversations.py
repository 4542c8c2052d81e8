"""Chats are saved, listed, read, renamed and deleted."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import pytest

from ollm_tui.chat.conversation import Conversation, SystemTemplate
from ollm_tui.protocol.blocks import UnknownContent
from ollm_tui.protocol.codec import message_from_json
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, ThinkingConfig
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store import statements
from ollm_tui.store.branches import ChatNews
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.options_json import settings_of
from ollm_tui.store.rows import ConversationSettings
from tests.store.rig import (
    SETTINGS,
    answered,
    asked,
    change,
    on_connection,
    open_parts,
    rows,
    save_chat,
)

if TYPE_CHECKING:
    from ollm_tui.protocol.ports import ChatJournal

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


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


async def test_settings_come_back_as_they_were_with_the_newest_message(path: Path) -> None:
    options = GenerationOptions(
        temperature=0.5,
        max_tokens=7,
        top_p=0.9,
        top_k=4,
        min_p=0.1,
        repeat_penalty=1.1,
        seed=3,
        stop=("a", "b"),
        response_format={"type": "object"},
        num_ctx=2048,
        keep_alive="5m",
        extra_body={"mirostat": 2},
    )
    conversation = Conversation(
        model="vllm://m",
        system_prompt="Be\0 brief",
        system_template=SystemTemplate("Be\0 brief", "hf"),
        options=options,
        tools=("f",),
    )
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        conversation.model = "bare"
        conversation.should_think = ThinkingConfig(
            mode="deep", effort="high", visible=False, depth=2
        )
        await journal.begin(asked("more"))
        found = (await store.load(journal.conversation_id)).settings
    assert found == replace(
        ConversationSettings.of(conversation), model="bare", system_prompt="Be� brief"
    )
    assert rows(path, "SELECT model, provider FROM conversations") == [("bare", None)]


async def test_a_list_of_tools_that_grows_is_saved_with_the_next_message(path: Path) -> None:
    tools = ["f"]
    conversation = Conversation(model="vllm://m")
    conversation.tools = tools  # type: ignore[assignment]  # a list, which any sequence may be
    taken = ConversationSettings.of(conversation)
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        tools.append("g")
        await journal.begin(asked("more"))
        found = (await store.load(journal.conversation_id)).settings
    assert taken.tools == ("f",)
    assert found.tools == ("f", "g")


@pytest.mark.parametrize("should_think", [None, True, False, "off", "first"])
@pytest.mark.parametrize("keep_alive", [None, 5, 0.5, "1h"])
async def test_wishes_for_reasoning_and_keeping_come_back(
    path: Path, should_think: object, keep_alive: object
) -> None:
    options = GenerationOptions(keep_alive=keep_alive, response_format="json")  # type: ignore[arg-type]  # one of four
    conversation = Conversation(options=options)
    conversation.should_think = should_think  # type: ignore[assignment]  # one of five
    async with open_store(path) as store:
        journal = store.journal(conversation)
        await journal.begin(asked())
        found = (await store.load(journal.conversation_id)).settings
    assert found == ConversationSettings.of(conversation)


@pytest.mark.parametrize(
    ("saved", "read"),
    [
        ('{"mode": null, "effort": "high"}', ThinkingConfig(effort="high")),
        ('{"mode": "last", "effort": "low"}', ThinkingConfig(effort="low")),
        ('{"mode": "last", "visible": false}', ThinkingConfig(mode="last", visible=False)),
        ('{"mode": null, "effort": "ultra"}', None),
        ('"deep"', "deep"),
    ],
)
def test_an_effort_of_an_earlier_version_is_one_in_any_mode(saved: str, read: object) -> None:
    assert settings_of(None, None, f'{{"should_think": {saved}}}').should_think == read


@pytest.mark.parametrize(
    "options",
    [
        "not json",
        "[]",
        '{"generation": 5, "should_think": "never", "tools": 1}',
        '{"generation": {"temperature": "hot", "seed": true, "stop": 4, "extra_body": []}}',
        '{"generation": {"extra_body": {"model": "x"}}, "should_think": {"mode": 4}}',
        '{"generation": {"keep_alive": "soon"}}',
        '{"generation": {"keep_alive": true}}',
        '{"generation": {"keep_alive": NaN}}',
    ],
)
async def test_options_that_cannot_be_read_are_the_defaults(path: Path, options: str) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(database, "UPDATE conversations SET options = ?", options)
        assert (await store.load(chat_id)).settings == SETTINGS
    finally:
        await database.close()


@pytest.mark.parametrize("body", ["{", "[]", '{"content": "x"}', '{"role": "", "content": "x"}'])
async def test_a_message_that_cannot_be_read_is_shown_and_kept(path: Path, body: str) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(database, "UPDATE messages SET body = ? WHERE depth = 2", body)
        first, second = (await store.load(chat_id)).history
    finally:
        await database.close()
    assert first == asked("q")
    assert second.role == "assistant"
    assert second.content[0].type == "unreadable"
    assert rows(path, "SELECT body FROM messages WHERE depth = 2") == [(body,)]


_TEXT = '{"role":"assistant","content":[{"type":"text","text":"'


@pytest.mark.parametrize(
    "body",
    [
        _TEXT + '"}]}',
        _TEXT + 'a \\"quote\\", \\n, \\u00e9 \\\\ and 😀"}]}',
        _TEXT + 'a"}],"name":"x"}',
        _TEXT + 'a"},{"type":"text","text":"b"}]}',
        _TEXT + 'a","text":"b"}]}',
        _TEXT + 'a"}],"tool_calls":[{"id":"1","name":"f","args":null,"raw_args":"x"}]}',
        _TEXT + 'a"}],"metadata":{"ended":"stopped","marked":"}]}"}}',
        _TEXT + 'a"}]} ',
        '{"role": "assistant", "content": [{"type": "text", "text": "a"}]}',
    ],
)
async def test_a_message_is_read_as_its_json_says(path: Path, body: str) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(database, "UPDATE messages SET body = ? WHERE depth = 2", body)
        assert (await store.load(chat_id)).history[1] == message_from_json(json.loads(body))
    finally:
        await database.close()


@pytest.mark.parametrize("rest", ['a"}]', 'a\n"}]}', 'a"}]}}', "a"])
async def test_text_that_is_no_json_is_shown_as_it_is(path: Path, rest: str) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(database, "UPDATE messages SET body = ? WHERE depth = 2", _TEXT + rest)
        (block,) = (await store.load(chat_id)).history[1].content
    finally:
        await database.close()
    assert block == UnknownContent("unreadable", {"body": _TEXT + rest})


async def test_a_message_that_json_cannot_hold_keeps_its_text(path: Path) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    call = ToolCall(id="1", name="f", args={"deep": deep})  # type: ignore[dict-item]  # too deep to check
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(Message("user", "kept", tool_calls=[call]))
        (message,) = (await store.load(journal.conversation_id)).history
    assert message.text == "kept"
    assert "not_saved" in message.metadata


async def test_a_chat_whose_messages_follow_each_other_in_a_circle_is_read(path: Path) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "q")
        await change(
            database,
            "UPDATE messages SET parent_id = (SELECT id FROM messages WHERE depth = 2)"
            " WHERE depth = 1",
        )
        with anyio.fail_after(5):
            assert len((await store.load(chat_id)).messages) == 2
    finally:
        await database.close()


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
