"""Whatever is said comes back equal, after the repair that UTF-8 asks for."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.decode.json_guard import repaired
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.rows import ENDED, decoded, encoded
from tests.store.rig import SETTINGS, on_connection, open_parts
from tests.support.seeds import in_parts
from tests.support.strategies import messages

HALVES = st.text(
    st.characters(categories=["Cs"]) | st.sampled_from("a\0é😀"), min_size=1, max_size=8
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ConversationStore]:
    database, _, opened = await open_parts(tmp_path / "chats.db")
    await on_connection(database, "PRAGMA synchronous = OFF")  # thousands of commits
    yield opened
    await database.close()


@in_parts(3)
@settings(max_examples=50)
@given(many=st.lists(messages(), min_size=1, max_size=4))
async def test_any_messages_come_back_equal(
    store: ConversationStore, part: int, many: list[Message]
) -> None:
    journal = store.journal(SETTINGS)
    for message in many:
        await journal.finish(await journal.begin(message), message)
    assert (await store.load(journal.conversation_id)).history == many


@settings(max_examples=150)
@given(HALVES, HALVES, HALVES)
async def test_half_surrogates_are_repaired_once_and_everything_else_comes_back_equal(
    store: ConversationStore, role: str, text: str, name: str
) -> None:
    def make(role: str, text: str, name: str) -> Message:
        call = ToolCall(id=name, name=name, args={name: [text]}, raw_args=text)
        return Message(role, text, name=name, tool_calls=[call], metadata={name: text})

    journal = store.journal(SETTINGS)
    await journal.begin(make(role, text, name))
    (loaded,) = (await store.load(journal.conversation_id)).history
    assert loaded == make(repaired(role), repaired(text), repaired(name))
    again = store.journal(SETTINGS)
    await again.begin(loaded)
    assert (await store.load(again.conversation_id)).history == [loaded]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 😀 \0", "plain é 😀 \0"),
        ("a\ud800b", "a�b"),
        ("\udc00", "�"),
        ("\ud83d\ude00", "😀"),
        ("\ud800\ud83d\ude00", "�😀"),
        ("\ufeffmark\ud800", "\ufeffmark�"),
    ],
)
def test_the_repair_changes_half_pairs_only(text: str, expected: str) -> None:
    assert repaired(text) == expected


async def test_ten_megabytes_and_a_thousand_calls_come_back(store: ConversationStore) -> None:
    calls = [ToolCall(id=str(n), name="f", args={"n": n, "big": 2**63}) for n in range(1000)]
    message = Message("assistant", [TextContent("x\0é" * 2_500_000)], tool_calls=calls)
    journal = store.journal(SETTINGS)
    await journal.finish(await journal.begin(message), message)
    assert (await store.load(journal.conversation_id)).history == [message]


@given(messages())
def test_a_message_that_was_cut_keeps_every_field(message: Message) -> None:
    read = decoded("m", message.role, "streaming", encoded(message).decode()).message
    assert ENDED in read.metadata
    assert replace(read, metadata=message.metadata) == message
