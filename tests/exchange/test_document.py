"""Store, document, store: equal; and what no document is."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator, ValidationError

from ollm_tui.exchange.document import document_pieces, is_document, read_document
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.records import Added, ChatRecord
from tests.store.rig import open_parts
from tests.store.test_records import TREE, chat, message
from tests.support.seeds import in_parts
from tests.support.strategies_of_chats import chats

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/chat.schema.json").read_text("utf-8"))


def document(record: ChatRecord) -> dict[str, Any]:
    return dict(json.loads("".join(document_pieces(record))))


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[ConversationStore, ConversationStore]]:
    databases = []
    for name in ("one", "two"):
        database, _, store = await open_parts(tmp_path / f"{name}.db")
        await database.run(
            lambda at=database: at._held().connection.execute(  # type: ignore[misc]
                "PRAGMA synchronous = OFF"
            )
        )
        databases.append((database, store))
    yield databases[0][1], databases[1][1]
    for database, _ in databases:
        await database.close()


@in_parts(625)
@settings(max_examples=8)
@given(record=chats())
async def test_any_chat_comes_into_another_store_as_it_was(
    stores: tuple[ConversationStore, ConversationStore], part: int, record: ChatRecord
) -> None:
    first, second = stores
    await first.records.add([record])
    stored = await first.records.read(record.id)
    assert stored is not None
    assert stored.messages == record.messages
    text = "".join(document_pieces(stored))
    assert text.isascii()
    Draft202012Validator(SCHEMA).validate(json.loads(text))
    assert is_document(json.loads(text))
    assert await second.records.add([read_document(json.loads(text))]) == [
        Added(True, len(record.messages))
    ]
    assert await second.records.read(record.id) == stored
    assert await second.records.add([read_document(json.loads(text))]) == [Added(False, 0)]


async def test_an_answer_that_was_growing_is_interrupted_in_the_document(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        journal = store.journal(chat().settings)
        await journal.begin(Message("user", "Why?"))
        await journal.begin(Message("assistant", "Beca"))
        record = await store.records.read(journal.conversation_id)
    assert record is not None
    assert [one["state"] for one in document(record)["messages"]] == ["complete", "interrupted"]


@pytest.mark.parametrize("missing", ["format", "version", "chat", "messages"])
def test_the_schema_requires_what_the_reader_does(missing: str) -> None:
    data = document(chat(*TREE))
    del data[missing]
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(data)
    if missing != "format":
        with pytest.raises(AIError, match="has no usable"):
            read_document(data)


def test_the_schema_refuses_an_unknown_state() -> None:
    data = document(chat(*TREE))
    data["messages"][0]["state"] = "odd"
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(data)


def test_a_document_of_a_newer_version_is_refused_with_a_next_step() -> None:
    with pytest.raises(AIError, match="newer version") as raised:
        read_document(document(chat(*TREE)) | {"version": 2})
    assert raised.value.hint == "Update ollm to import it."


@pytest.mark.parametrize(
    ("key", "value"),
    [("id", 5), ("id", ""), ("id", "a\nb"), ("id", "x" * 500), ("message", []), ("message", {})],
)
def test_a_message_without_what_it_needs_is_refused(key: str, value: Any) -> None:
    data = document(chat(*TREE))
    data["messages"][1][key] = value
    with pytest.raises(AIError, match="has no usable"):
        read_document(data)


def test_wrong_types_elsewhere_count_as_absent() -> None:
    data = document(chat(message("a", None)))
    data["chat"] |= {"title": 7, "title_by": [], "created_ms": "x", "settings": [], "leaf": {}}
    data["messages"][0] |= {"parent": 3, "state": {}, "created_ms": -1, "model": 4, "settings": 1}
    record = read_document(data)
    assert (record.title, record.title_by, record.created_ms, record.leaf_id) == (
        "", "question", 0, None,
    )  # fmt: skip
    assert (record.messages[0].parent_id, record.messages[0].state) == (None, "complete")
