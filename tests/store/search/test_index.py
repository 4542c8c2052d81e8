"""The index finds what reading all messages finds, whatever is done to the chats."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.search.index_file import IndexPlace
from ollm_tui.store.search.indexer import indexing
from tests.store.rig import SETTINGS, answered, asked, rows, save_chat
from tests.store.search.rig import by_index, by_reading, texts, update
from tests.support.seeds import in_parts

WORDS = ["ant", "bee", "cat", "dog", "eel", "Fliege", "gnu", "höhle", "île", "日本", "jay", "kit2"]
SEARCHES = [
    *WORDS,
    *("an*", "e* b*", '"ant bee"', "ant cat", "role:user", "role:a cat", "model:tiny d*", "hohle"),
]


async def do_something(
    store: ConversationStore, chance: random.Random, journals: list[ConversationJournal]
) -> None:
    text = " ".join(chance.choices(WORDS, k=chance.randrange(1, 6)))
    act = chance.random()
    if act < 0.3 or not journals:
        journals.append(store.journal(SETTINGS))
        await journals[-1].begin(asked(text))
    elif act < 0.75:
        journal = chance.choice(journals)
        if act > 0.65:
            journal.rewind(chance.randrange(len(journal.path)))
        await journal.begin(asked(text))
        answer = await journal.begin(answered("one"))
        if act > 0.4:
            await journal.finish(answer, answered(text))
    elif act < 0.9:
        journal = journals.pop(chance.randrange(len(journals)))
        await store.delete(journal.conversation_id)
    else:
        journal = chance.choice(journals)
        await store.rename(journal.conversation_id, text)


@in_parts(4)
async def test_the_index_equals_a_scan_after_any_history(tmp_path: Path, part: int) -> None:
    path, chance = tmp_path / "chats.db", random.Random(part)
    async with open_store(path) as store:
        journals: list[ConversationJournal] = []
        for _ in range(15):
            for _ in range(chance.randrange(1, 6)):
                await do_something(store, chance, journals)
            update(path)
            for search in SEARCHES:
                assert by_index(path, search) == by_reading(path, search), search
    with closing(sqlite3.connect(IndexPlace(path).index)) as index:
        for (shard,) in index.execute("SELECT number FROM shards"):
            index.execute(f"INSERT INTO words_{shard} (words_{shard}) VALUES ('integrity-check')")


async def test_results_come_the_newest_first_in_pages(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        for number in range(5):
            await save_chat(store, f"question {number}")
    update(path)
    hits = by_index(path, "question role:user", limit=2)
    assert texts(hits) == ["question 4", "question 3"]
    assert hits[0].chat_title == "question 4"
    assert by_reading(path, "question role:user", limit=2) == hits
    for find in (by_index, by_reading):
        rest = find(path, "question role:user", limit=2, before=hits[-1].number)
        assert texts(rest) == ["question 2", "question 1"]


async def test_what_is_up_to_date_is_not_indexed_again(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        chat_id = await save_chat(store, "one", "two")
        assert update(path) == 4
        assert update(path) == 0
        journal = store.journal(SETTINGS, await store.load(chat_id))
        answer = await journal.begin(answered("grow"))
        assert update(path) == 0  # it is not complete yet
        await journal.finish(answer, answered("grown"))
        assert update(path) == 1
    assert texts(by_index(path, "gro*")) == ["grown"]


async def test_an_answer_that_a_dead_program_left_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await journal.begin(answered("half"))
        update(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE messages SET state = 'interrupted' WHERE state = 'streaming'")
    update(path)
    assert texts(by_index(path, "half")) == ["half"]


async def test_thinking_tools_and_names_of_files_are_searched(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    body = (
        '{"role":"assistant","content":[{"type":"thinking","text":"ponder"},{"type":"image",'
        '"name":"cat.png","data":"aGlkZGVu"},{"type":"text","text":"ans\\ud800wer"}],'
        '"tool_calls":[{"id":"1","name":"grep","args":{"pattern":["needle"]}}]}'
    )
    async with open_store(path) as store:
        await save_chat(store, "one")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(
            "UPDATE messages SET body = ? WHERE number = 1", (body.replace("\\ud800", ""),)
        )
        other.execute("UPDATE messages SET body = 'no JSON' WHERE number = 2")
    update(path)
    for word in ("ponder", "cat png", "answer", "grep", "needle"):
        assert len(by_index(path, word)) == 1, word
        assert len(by_reading(path, word)) == 1, word
    assert by_index(path, "aGlkZGVu") == []


async def test_deleted_words_leave_the_file(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "keep this one")
        update(path)
        secret = await save_chat(store, "xyzzysecret plughsecret")
        update(path)
        assert file_has(path, b"xyzzysecret")
        await store.delete(secret)
        update(path)
    assert not file_has(path, b"xyzzysecret")
    assert not file_has(path, b"plughsecret")
    assert texts(by_index(path, "keep")) == ["About keep this one", "keep this one"]


def file_has(path: Path, word: bytes) -> bool:
    files = path.parent.glob(f"{IndexPlace(path).index.name}*")
    return any(word in file.read_bytes() for file in files)


async def test_an_index_that_is_damaged_or_old_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "one")
    update(path)
    index = IndexPlace(path).index
    index.write_bytes(b"garbage" * 1000)
    assert update(path) == 2
    with closing(sqlite3.connect(index)) as connection:
        connection.execute("PRAGMA user_version = 0")
    assert update(path) == 2
    assert len(by_index(path, "one")) == 2
    assert index.stat().st_mode & 0o077 == 0


async def test_one_program_indexes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "one")
    with indexing(IndexPlace(path)) as first, indexing(IndexPlace(path)) as second:
        assert first is not None
        assert second is None


async def test_saving_goes_on_while_a_slice_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        for number in range(20):
            await save_chat(store, f"question {number}")
        with indexing(IndexPlace(path)) as indexer:
            assert indexer is not None
            for _ in indexer.run():
                await save_chat(store, "meanwhile")
        update(path)
        assert len(by_index(path, "role:user")) == len(by_reading(path, "role:user"))


async def test_a_message_with_the_number_of_a_deleted_one_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "old")
        update(path)
        numbers = rows(path, "SELECT number FROM messages")
        for chat in await store.list():
            await store.delete(chat.id)
        await store.deletions.purge(0)
        await save_chat(store, "new")
    assert rows(path, "SELECT number FROM messages") == numbers
    update(path)
    assert by_index(path, "old") == []
    assert texts(by_index(path, "new")) == ["About new", "new"]
