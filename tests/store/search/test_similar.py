"""Similar messages: made in the background, resumed after a kill, and forgotten with their chat."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import open_store
from ollm_tui.store.search import similar as similar_module
from ollm_tui.store.search.index_file import IndexPlace
from ollm_tui.store.search.indexer import locked
from ollm_tui.store.search.query import parse_query
from ollm_tui.store.search.similar import NOT_READY, SimilarSearch
from tests.store.rig import SETTINGS, asked, rows, save_chat
from tests.store.search.concepts import ConceptEmbedder
from tests.store.search.rig import update

ROOT = Path(__file__).parents[3]
TEXTS = ("My car does not start", "How long do I boil an egg", "It will drizzle", "Thank you")


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        for text in TEXTS:
            await store.journal(SETTINGS).begin(asked(text))
    update(path)
    return path


def no_report(_done: int, _messages: int) -> None:
    pass


async def texts_of(search: SimilarSearch, query: str, **options: object) -> list[str]:
    results = await search.search(parse_query(query), **options)  # type: ignore[arg-type]
    return [one.hit.snippet.text for one in results.hits]


def vectors_in(path: Path) -> int:
    (row,) = rows(IndexPlace(path).index, "SELECT count(*) FROM vectors")
    return int(str(row[0]))


async def test_a_message_with_other_words_of_the_same_meaning_is_first(path: Path) -> None:
    search = SimilarSearch(path, ConceptEmbedder())
    assert await search.update(no_report)
    assert await texts_of(search, "vehicle will not run") == [TEXTS[0]]
    results = await search.search(parse_query("cook an omelette"))
    assert results.notice is None
    (one,) = results.hits
    assert one.hit.snippet.text == TEXTS[1]
    assert one.similarity == pytest.approx(1, abs=0.02)


async def test_facts_and_messages_that_are_listed_already_are_heeded(path: Path) -> None:
    search = SimilarSearch(path, ConceptEmbedder())
    await search.update(no_report)
    assert await texts_of(search, "vehicle role:assistant") == []
    (hit,) = (await search.search(parse_query("vehicle role:user"))).hits
    assert await texts_of(search, "vehicle", without=[hit.hit.message_id]) == []
    assert await texts_of(search, "role:user") == []


async def test_each_message_is_embedded_once_and_later_ones_too(path: Path) -> None:
    embedder = ConceptEmbedder()
    search = SimilarSearch(path, embedder)
    reports: list[tuple[int, int]] = []
    await search.update(lambda done, messages: reports.append((done, messages)))
    await search.update(no_report)
    assert sorted(embedder.texts) == sorted(TEXTS)  # also the one that has no vector
    assert reports == [(4, 4)]
    async with open_store(path) as store:
        await store.journal(SETTINGS).begin(asked("A shower at noon"))
    update(path)
    await search.update(no_report)
    assert embedder.texts[4:] == ["A shower at noon"]
    assert await texts_of(search, "rain") == ["A shower at noon", TEXTS[2]]


async def test_what_is_deleted_has_no_vector_left(path: Path) -> None:
    async with open_store(path) as store:
        chat = await save_chat(store, "an egg", "an omelette")
        update(path)
        search = SimilarSearch(path, ConceptEmbedder())
        await search.update(no_report)
        before = vectors_in(path)
        assert len(await texts_of(search, "egg")) == 5
        await store.delete(chat)
    update(path)
    assert vectors_in(path) == before - 4
    assert await texts_of(search, "egg") == [TEXTS[1]]


async def test_another_model_makes_all_vectors_anew(path: Path) -> None:
    await SimilarSearch(path, ConceptEmbedder()).update(no_report)
    other = ConceptEmbedder("others")
    search = SimilarSearch(path, other)
    assert (await search.search(parse_query("vehicle"))).notice == NOT_READY
    await search.update(no_report)
    assert sorted(other.texts[1:]) == sorted(TEXTS)
    assert await texts_of(search, "vehicle") == [TEXTS[0]]


async def test_it_pauses_while_an_answer_comes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_module, "AT_ONCE", 1)
    monkeypatch.setattr(similar_module, "LOOK_EVERY_S", 0.001)
    embedder = ConceptEmbedder()
    search = SimilarSearch(path, embedder)
    with anyio.move_on_after(10) as scope:
        # An answer comes from the third text on, and ends after some looks.
        looks = 0

        def is_busy() -> bool:
            nonlocal looks
            looks += len(embedder.texts) == 2
            if len(embedder.texts) == 4:
                scope.cancel()
            return 0 < looks < 4

        await search.keep_up(is_busy)
    assert len(embedder.texts) == 4
    assert looks == 4


async def test_problems_do_not_end_the_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_module, "RETRY_S", 0.001)
    monkeypatch.setattr(similar_module, "LOOK_EVERY_S", 0.001)
    embedder = ConceptEmbedder(problem=AIError(ErrorCode.MODEL_NOT_FOUND, "No model."))
    with pytest.raises(AIError, match="No model"):
        await SimilarSearch(path, embedder).search(parse_query("vehicle"))
    async with anyio.create_task_group() as group:
        group.start_soon(SimilarSearch(path, embedder).keep_up)
        await anyio.lowlevel.checkpoint()
        embedder.problem = None
        with anyio.fail_after(10):
            while vectors_in(path) < 3:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


async def test_another_window_is_not_disturbed(path: Path) -> None:
    embedder = ConceptEmbedder()
    with locked(IndexPlace(path).embedding_lock) as is_ours:
        assert is_ours
        assert not await SimilarSearch(path, embedder).update(no_report)
    assert embedder.texts == []


async def test_without_chats_there_is_nothing_to_do(tmp_path: Path) -> None:
    search = SimilarSearch(tmp_path / "none" / "chats.db", ConceptEmbedder())
    await search.update(no_report)
    assert (await search.search(parse_query("vehicle"))).notice == NOT_READY


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
async def test_it_continues_where_kill_9_ended_it(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "chats.db", random.Random(seed)
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        for number in range(80):
            await journal.begin(asked(f"egg {number}"))
    update(path)
    make_until_killed(path, chance.randrange(1, 6), chance.uniform(0, 0.01))
    assert rows(IndexPlace(path).index, "PRAGMA integrity_check") == [("ok",)]
    before = vectors_in(path)
    assert 8 <= before <= 80
    embedder = ConceptEmbedder()
    search = SimilarSearch(path, embedder)
    await search.update(no_report)
    assert len(embedder.texts) == 80 - before
    assert vectors_in(path) == 80
    assert len(await texts_of(search, "omelette", limit=100)) == 80


def make_until_killed(path: Path, batches: int, later_s: float) -> None:
    command = [sys.executable, "-m", "tests.store.search.concepts", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for _ in range(batches):
            program.stdout.readline()
        try:
            program.wait(later_s)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
