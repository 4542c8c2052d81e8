"""The list of chats: in any order, chosen by what is typed, with pins, tags and the archive."""

import random
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.listing import CHAT_SORTS, ChatFilter, ChatSort
from ollm_tui.store.rows import ConversationSettings
from ollm_tui.store.tags import changed_tags, tag_of
from tests.store.rig import answered, asked, rows, save_chat

if TYPE_CHECKING:
    from ollm_tui.store.journal import ConversationJournal

NOW = 1_800_000_000_000


def ticking(path: Path) -> AbstractAsyncContextManager[ConversationStore]:
    ticks = count(NOW, 1000)
    return open_store(path, clock_ms=lambda: next(ticks))


async def titles(
    store: ConversationStore,
    chosen: ChatFilter | None = None,
    sort: ChatSort = "changed",
    *,
    is_turned: bool = False,
) -> list[str]:
    numbers = await store.listing.order(chosen, sort, is_turned=is_turned)
    shown = await store.listing.rows(numbers)
    return [shown[number].title for number in numbers]


async def three(store: ConversationStore) -> list[str]:
    """Save `banana` (long), `Apple` (three questions) and `Äpfel`, by three models."""
    ids = []
    for model, texts in (
        ("local://zeta", ["banana", "x" * 5000]),
        ("local://beta", ["Apple", "a", "b"]),
        ("local://gamma", ["Äpfel"]),
    ):
        journal = store.journal(ConversationSettings(model=model))
        for text in texts:
            await journal.begin(asked(text))
            answer = await journal.begin(answered("yes"))
            await journal.finish(answer, answered("yes"))
        ids.append(journal.conversation_id)
    return ids


async def test_each_order_and_its_reverse(path: Path) -> None:
    async with ticking(path) as store:
        await three(store)
        orders = {sort: await titles(store, sort=sort) for sort in CHAT_SORTS}
        assert orders == {
            "changed": ["Äpfel", "Apple", "banana"],
            "created": ["Äpfel", "Apple", "banana"],
            "title": ["Apple", "banana", "Äpfel"],
            "model": ["Apple", "Äpfel", "banana"],
            "messages": ["Apple", "banana", "Äpfel"],
            "size": ["banana", "Apple", "Äpfel"],
        }
        for sort, order in orders.items():
            assert await titles(store, sort=sort, is_turned=True) == order[::-1]


async def test_pinned_chats_come_first_and_archived_ones_are_apart(path: Path) -> None:
    async with ticking(path) as store:
        first, second, third = await three(store)
        await store.listing.pin(first)
        await store.listing.archive(third)
        assert await titles(store) == ["banana", "Apple"]
        assert await titles(store, sort="title") == ["banana", "Apple"]
        assert await titles(store, ChatFilter(is_pinned=True)) == ["banana"]
        assert await titles(store, ChatFilter(is_archived=True)) == ["Äpfel"]
        assert [one.id for one in await store.list()] == [second, first]
        assert (await store.load(third)).title == "Äpfel"
        await store.listing.pin(first, is_pinned=False)
        await store.listing.archive(third, is_archived=False)
        assert await titles(store) == ["Äpfel", "Apple", "banana"]


async def test_words_models_tags_and_dates_choose(path: Path) -> None:
    async with ticking(path) as store:
        first, second, _third = await three(store)
        await store.listing.tag(first, ["Fruit", "#work"])
        await store.listing.tag(second, ["fruit"])
        for chosen, expected in (
            (ChatFilter(words=("äpf",)), ["Äpfel"]),
            (ChatFilter(words=("an", "zeta")), ["banana"]),
            (ChatFilter(words=("work",)), ["banana"]),
            (ChatFilter(words=("%",)), []),
            (ChatFilter(models=("eta",)), ["Apple", "banana"]),
            (ChatFilter(tags=("fruit",)), ["Apple", "banana"]),
            (ChatFilter(tags=("fruit", "work")), ["banana"]),
            (ChatFilter(tags=("wor",)), []),
            (ChatFilter(before_ms=NOW), []),
            (ChatFilter(after_ms=NOW), ["Äpfel", "Apple", "banana"]),
        ):
            assert await titles(store, chosen) == expected, chosen
        assert await store.listing.tags() == {"fruit": 2, "work": 1}


async def test_counts_are_right_after_everything_that_can_be_done(path: Path) -> None:
    """Triggers keep them: they are what counting all messages gives, whatever happened."""
    chance = random.Random(7)
    async with open_store(path) as store:
        journals: list[ConversationJournal] = []
        for number in range(60):
            action = chance.randrange(6)
            if action < 2 or not journals:
                journal = store.journal(ConversationSettings())
                await journal.begin(asked(f"ä{number}" * chance.randrange(1, 9)))
                journals.append(journal)
                continue
            journal = chance.choice(journals)
            if action == 2:
                answer = await journal.begin(answered("grows"))
                await journal.update(answer, answered("grows on"))
                await store.save()
                await journal.finish(answer, answered("grows on and ends"))
            elif action == 3 and journal.path:
                await store.deletions.delete_messages(journal.conversation_id, journal.path[-1])
                journals.remove(journal)
            elif action == 4:
                await store.deletions.undelete(journal.conversation_id)
            elif action == 5 and journal.path:
                await store.trees.fork(journal.conversation_id, journal.path[0])
        record = await store.records.read(journals[0].conversation_id)
        assert record is not None
        await store.records.add([record])
        await store.deletions.purge(0)
        listed = await store.list(limit=1000)
    counted = {
        row[0]: row[1:]
        for row in rows(
            path,
            "SELECT conversation_id, count(*), sum(length(CAST(body AS BLOB))) FROM messages"
            " GROUP BY conversation_id",
        )
    }
    assert len(listed) > 10
    assert {one.id: (one.total_messages, one.size_bytes) for one in listed} == counted


async def test_the_order_is_read_from_the_index_alone(path: Path) -> None:
    async with open_store(path) as store:
        await save_chat(store, "one")
    plan = str(
        rows(
            path,
            "EXPLAIN QUERY PLAN SELECT number FROM conversations WHERE deleted_ms IS NULL AND"
            " is_archived = 0 ORDER BY is_pinned DESC, size_bytes DESC",
        )
    )
    assert "COVERING INDEX listed_conversations" in plan


async def test_a_preview_has_the_beginning_and_the_end_of_the_branch(path: Path) -> None:
    async with open_store(path) as store:
        chat = await save_chat(store, *(f"q{number}" for number in range(5)))
        preview = await store.listing.preview(chat)
        assert [one.message.text for one in preview.messages] == [
            "q0",
            "About q3",
            "q4",
            "About q4",
        ]
        assert preview.left_out == 6
        short = await store.listing.preview(await save_chat(store, "only"))
        assert [one.message.text for one in short.messages] == ["only", "About only"]
        assert short.left_out == 0
        assert (await store.listing.preview("gone")).messages == ()
        journal = store.journal(ConversationSettings())
        await journal.begin(Message("user", "long " * 100_000))
        (long,) = (await store.listing.preview(journal.conversation_id)).messages
        assert "long" not in long.message.text


async def test_a_title_of_a_model_never_replaces_one_of_a_person(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(ConversationSettings())
        await journal.begin(asked("What is this?"))
        chat = journal.conversation_id
        assert await store.listing.title_by_model(chat, "About this", journal.watch)
        assert (await store.load(chat)).title == "About this"
        assert await store.news(journal) is None
        assert not await store.listing.title_by_model(chat, "Again", journal.watch)
        await store.rename(chat, "Mine", watch=journal.watch)
        assert not await store.listing.title_by_model(chat, "Another", journal.watch)
        assert (await store.load(chat)).title == "Mine"


async def test_what_no_longer_exists_cannot_be_marked(path: Path) -> None:
    async with open_store(path) as store:
        for mark in (
            store.listing.pin("gone"),
            store.listing.archive("gone"),
            store.listing.tag("gone", ["a"]),
        ):
            with pytest.raises(AIError, match="no such chat"):
                await mark
        chat = await save_chat(store, "one")
        with pytest.raises(AIError, match="not a valid tag"):
            await store.listing.tag(chat, ["two words"])
        with pytest.raises(AIError, match="up to 20 tags"):
            await store.listing.tag(chat, [f"t{number}" for number in range(21)])
        assert await store.listing.tags() == {}


@given(st.text(max_size=50))
def test_a_tag_is_one_word_or_refused(text: str) -> None:
    try:
        tag = tag_of(text)
    except AIError:
        return
    assert tag.split() == [tag]
    assert tag_of(tag) == tag


def test_tags_are_added_and_removed() -> None:
    assert changed_tags(("a", "b"), ["c", "-A", "#B"]) == ("b", "c")
