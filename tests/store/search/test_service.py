"""`ChatSearch`: results as one types, progress, and the ways out without an index."""

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from ollm_tui.store.conversations import open_store
from ollm_tui.store.search import service
from ollm_tui.store.search.index_file import IndexPlace
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.service import NO_FTS5, ChatSearch
from tests.store.rig import save_chat


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        await save_chat(store, "big cats", "small dogs")
    return path


@pytest.fixture
async def search(path: Path) -> AsyncIterator[ChatSearch]:
    search = ChatSearch(path, first_look_s=0)
    yield search
    await search.close()


async def until_complete(search: ChatSearch, query: SearchQuery, count: int) -> None:
    with anyio.fail_after(10):
        while True:
            results = await search.search(query)
            if results.is_complete and len(results.hits) == count:
                return
            await anyio.lowlevel.checkpoint()


async def test_it_indexes_in_the_background_and_finds_what_is_saved_later(
    search: ChatSearch, path: Path
) -> None:
    search.start()
    await until_complete(search, parse_query("cats"), 2)
    async with open_store(path) as store:
        await save_chat(store, "more cats")
        search.start()  # looks for changes at once
        await until_complete(search, parse_query("cats"), 4)


async def test_closing_ends_the_thread(search: ChatSearch) -> None:
    search.start()
    await search.close()
    assert "chat search" not in [thread.name for thread in threading.enumerate()]


async def test_update_reports_how_far_it_is(search: ChatSearch) -> None:
    reports: list[tuple[int, int]] = []
    await search.update(lambda done, total: reports.append((done, total)))
    assert reports[-1] == (4, 4)
    results = await search.search(parse_query("cats"))
    assert [hit.role for hit in results.hits] == ["assistant", "user"]
    assert results.is_complete


async def test_an_empty_search_has_no_results(search: ChatSearch) -> None:
    assert (await search.search(parse_query(" "))).hits == ()


async def test_without_fts5_every_message_is_read_and_that_is_said(path: Path) -> None:
    search = ChatSearch(path, fts5=False)
    search.start()
    results = await search.search(parse_query("ca*"))
    assert [hit.snippet.text for hit in results.hits] == ["About big cats", "big cats"]
    assert results.notice == NO_FTS5
    assert not IndexPlace(path).index.exists()
    await search.close()


async def test_without_a_place_for_the_index_every_message_is_read(
    search: ChatSearch, path: Path
) -> None:
    IndexPlace(path).index.mkdir()
    await search.update(lambda _done, _total: None)
    results = await search.search(parse_query("cats"))
    assert len(results.hits) == 2
    assert results.notice is not None
    assert results.notice.startswith("There is no search index, so each search reads all messages.")


async def test_an_index_of_a_newer_version_is_left_alone(search: ChatSearch, path: Path) -> None:
    with closing(sqlite3.connect(IndexPlace(path).index)) as connection:
        connection.execute("PRAGMA user_version = 99")
    await search.update(lambda _done, _total: None)
    results = await search.search(parse_query("cats"))
    assert (len(results.hits), results.notice) == (
        2,
        "The search index is of a newer version of this program.",
    )
    with closing(sqlite3.connect(IndexPlace(path).index)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (99,)


async def test_an_index_that_was_replaced_is_opened_again(search: ChatSearch, path: Path) -> None:
    for _ in range(2):
        await search.update(lambda _done, _total: None)
        assert len((await search.search(parse_query("cats"))).hits) == 2
        IndexPlace(path).index.unlink()


async def test_the_next_letter_stops_a_search(
    search: ChatSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await search.update(lambda _done, _total: None)
    began, ended = threading.Event(), threading.Event()

    def endless(index: sqlite3.Connection, *_: object) -> list[object]:
        began.set()
        try:
            index.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                " SELECT count(*) FROM n"
            ).fetchone()
        finally:
            ended.set()
        return []

    with monkeypatch.context() as patch:
        patch.setattr(service, "search_index", endless)
        async with anyio.create_task_group() as group:
            group.start_soon(search.search, parse_query("c"))
            await anyio.to_thread.run_sync(began.wait, 10)
            group.cancel_scope.cancel()
    assert len((await search.search(parse_query("cats"))).hits) == 2
    assert ended.is_set()


async def test_chats_that_cannot_be_read_are_an_error_of_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    path.write_bytes(b"garbage" * 1000)
    search = ChatSearch(path, fts5=False)
    with pytest.raises(Exception, match="Not searched: the file is damaged"):
        await search.search(parse_query("cats"))


async def test_no_chats_have_no_matches(tmp_path: Path) -> None:
    search = ChatSearch(tmp_path / "chats.db", first_look_s=0)
    search.start()
    await until_complete(search, parse_query("cats"), 0)
    await search.close()
    assert list(tmp_path.glob("*.db*")) == []


@pytest.mark.parametrize("fts5", [True, False])
async def test_a_tag_chooses_the_messages_of_its_chats(path: Path, fts5: bool) -> None:
    async with open_store(path) as store:
        kept = await save_chat(store, "blue sky", "blue sea")
        await save_chat(store, "blue paint")
        await store.listing.tag(kept, ["nature", "blue"])
    search = ChatSearch(path, fts5=fts5)
    await search.update(lambda _done, _all: None)
    for text, expected in (
        ("blue role:user tag:nature", ["blue sea", "blue sky"]),
        ("blue role:user tag:#NATURE tag:blue", ["blue sea", "blue sky"]),
        ("role:user tag:natur", []),
    ):
        results = await search.search(parse_query(text))
        assert [hit.snippet.text for hit in results.hits] == expected
    await search.close()
