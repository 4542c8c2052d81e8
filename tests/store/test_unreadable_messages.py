"""Messages that cannot be read, or that JSON cannot hold, are shown and kept."""

import json
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.blocks import UnknownContent
from ollm_tui.protocol.codec import message_from_json
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.conversations import open_store
from tests.store.rig import (
    SETTINGS,
    asked,
    change,
    open_parts,
    rows,
    save_chat,
)


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
