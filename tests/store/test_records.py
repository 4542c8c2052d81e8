"""Whole chats leave a store and enter another one, or the same one again."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import open_store
from ollm_tui.store.records import Added, ChatRecord, MessageRecord, in_order
from ollm_tui.store.rows import ConversationSettings

SETTINGS = ConversationSettings(model="local://tiny")


def message(name: str, parent: str | None, text: str = "") -> MessageRecord:
    words = Message("user", text or name)
    return MessageRecord(id=name, parent_id=parent, message=words, created_ms=1, updated_ms=1)


def chat(*messages: MessageRecord, name: str = "c", leaf: str | None = None) -> ChatRecord:
    return ChatRecord(
        id=name,
        title="A chat",
        title_by="model",
        created_ms=1,
        updated_ms=2,
        settings=SETTINGS,
        leaf_id=leaf,
        messages=messages,
    )


TREE = (message("a", None), message("b", "a"), message("c1", "b"), message("c2", "b"))


async def test_a_chat_enters_once_and_later_only_what_is_new(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        assert await store.records.add([chat(*TREE, leaf="c2")]) == [Added(True, 4)]
        assert await store.records.add([chat(*TREE, leaf="c2")]) == [Added(False, 0)]
        await store.rename("c", "My title")
        longer = (*TREE, message("d", "c2"))
        assert await store.records.add([chat(*longer, leaf="d")]) == [Added(False, 1)]
        stored = await store.load("c")
    assert [one.id for one in stored.messages] == ["a", "b", "c2", "d"]
    assert stored.title == "My title"


async def test_the_open_branch_stays_where_it_was_continued_here(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        await store.records.add([chat(*TREE, leaf="c1")])
        await store.records.add([chat(*TREE, message("d", "c2"), leaf="d")])
        assert [one.id for one in (await store.load("c")).messages] == ["a", "b", "c1"]


async def test_a_message_id_of_another_chat_gets_another_one_each_time_the_same(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        await store.records.add([chat(*TREE)])
        thief = chat(message("a", None, "other"), message("z", "a"), name="x", leaf="z")
        assert await store.records.add([thief]) == [Added(True, 2)]
        assert await store.records.add([thief]) == [Added(False, 0)]
        kept, other = await store.load("c"), await store.load("x")
    assert kept.messages[0].message.text == "a"
    assert [one.message.text for one in other.messages] == ["other", "z"]


async def test_what_enters_can_be_continued_and_deleted(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        await store.records.add([chat(*TREE, leaf="c1")])
        journal = store.journal(SETTINGS, await store.load("c"))
        await journal.begin(Message("user", "more"))
        assert [m.message.text for m in (await store.load("c")).messages][-1] == "more"
        await store.delete("c")
        assert await store.records.read("c") is None
        assert await store.list() == ()


async def test_a_chat_is_known_by_a_part_of_its_id(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        names = ("abc-1", "abc-2", "abc")
        await store.records.add(
            [chat(message(f"m{name}", None), name=name, leaf=None) for name in names]
        )
        assert await store.records.matching("c-1") == ["abc-1"]
        assert (await store.records.matching("abc"))[0] == "abc"
        assert len(await store.records.matching("abc")) == 2
        assert await store.records.matching("%") == []


@given(
    st.lists(st.tuples(st.integers(0, 8), st.none() | st.integers(0, 9)), max_size=9),
    st.randoms(use_true_random=False),
)
def test_any_links_become_a_forest_with_every_message_once(
    links: list[tuple[int, int | None]], chance: random.Random
) -> None:
    messages = [message(f"{n}", None if p is None else f"{p}") for n, p in links]
    chance.shuffle(messages)
    ordered = in_order(messages)
    seen: set[str] = set()
    for one in ordered:
        assert one.parent_id is None or one.parent_id in seen
        seen.add(one.id)
    assert seen == {one.id for one in messages}
    assert len(ordered) == len(seen)
    first = {one.id: one.parent_id for one in reversed(messages)}
    rerooted = sum(one.parent_id != first[one.id] for one in ordered)
    missing = sum(parent is not None and parent not in first for parent in first.values())
    assert missing <= rerooted <= len(first)


def test_a_long_chain_in_reverse_is_no_problem() -> None:
    count = 20_000
    chain = [message(f"{n}", f"{n - 1}" if n else None) for n in range(count)]
    ordered = in_order(reversed(chain))
    assert [one.id for one in ordered] == [f"{n}" for n in range(count)]


@pytest.mark.parametrize(("leaf", "path"), [("c1", "a b c1"), ("c2", "a b c2"), (None, "a b c2")])
def test_a_branch_is_the_path_to_its_end(leaf: str | None, path: str) -> None:
    branch = replace(chat(*TREE), leaf_id=leaf).branch()
    assert [one.id for one in branch.messages] == path.split()
    assert branch.leaf_id == path.split()[-1]
