"""The registry: useful without a network, with what was said and done kept between runs."""

import json
import logging
import multiprocessing
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.cli.model_search import entry_json, table_of
from ollm_tui.library.hub.repo import Hub, HubModel, HubRepo
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.known import HubFacts
from ollm_tui.library.registry.storage import (
    MAX_REPOS,
    load_facts,
    load_user_records,
    save_facts,
    save_use,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from tests.support.clock import ManualClock

OFF = AIError(ErrorCode.SERVICE_UNAVAILABLE, "The hub does not answer.", hint="Try later.")


class ListedHub:
    """Answers every search with the same models, or with an error."""

    address = "https://hub.example"

    def __init__(self, *models: HubModel, problem: AIError | None = None) -> None:
        self.models = models
        self.problem = problem
        self.asked: list[tuple[str, int]] = []

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        self.asked.append((text, limit))
        if self.problem is not None:
            raise self.problem
        return self.models[:limit]

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        raise NotImplementedError

    def file_url(self, repo: str, revision: str, path: str) -> str:
        raise NotImplementedError

    def token_for(self, url: str) -> str | None:
        raise NotImplementedError


def registry(
    folder: Path, hub: Hub | None = None, clock: ManualClock | None = None
) -> ModelRegistry:
    return ModelRegistry(
        opinions_file=folder / "data" / "registry.json",
        hub_file=folder / "cache" / "hub.json",
        hub=hub,
        now=clock or ManualClock(1_000.0),
    )


def ids(entries: Sequence[object]) -> list[str]:
    return [entry.id for entry in entries]  # type: ignore[attr-defined]


def test_a_search_needs_no_network_and_no_files(tmp_path: Path) -> None:
    made = registry(tmp_path / "nothing")
    assert ids(made.search("qwen3-8b"))[0] == "qwen3-8b"
    assert len(made.search(limit=7)) == 7
    assert not (tmp_path / "nothing").exists()


async def test_what_the_hub_says_is_merged_and_there_in_the_next_run_without_it(
    tmp_path: Path,
) -> None:
    hub = ListedHub(
        HubModel(repo="Qwen/Qwen3-8B-GGUF", downloads=70, likes=7),
        HubModel(repo="new/Thing-3B-GGUF", downloads=5, licence="mit"),
    )
    found = await registry(tmp_path, hub).search_hub("thing", limit=9)
    assert hub.asked == [("thing", 9)]
    assert ids(found) == ["hf:new/Thing-3B-GGUF", "qwen3-8b"], "what the words are not in is last"
    later = registry(tmp_path)
    (entry,) = later.search("thing-3b")
    assert (entry.downloads, entry.licence, entry.facts_at) == (5, "mit", 1_000.0)
    assert later.search("qwen3-8b")[0].downloads == 70


@pytest.mark.parametrize("hub", [None, ListedHub(problem=OFF)])
async def test_without_the_hub_there_is_an_error_and_the_search_goes_on(
    tmp_path: Path, hub: Hub | None
) -> None:
    made = registry(tmp_path, hub)
    with pytest.raises(AIError) as caught:
        await made.search_hub("qwen")
    assert hub is None or caught.value is OFF
    assert "qwen3-8b" in ids(made.search("qwen"))


async def test_a_cache_that_cannot_be_written_costs_nothing_but_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    made = registry(tmp_path, ListedHub(HubModel(repo="new/Thing-3B-GGUF")))
    assert ids(await made.search_hub("thing")) == ["hf:new/Thing-3B-GGUF"]
    assert "What the hub said could not be kept" in caplog.text


async def test_a_rating_is_kept_changed_and_taken_back(tmp_path: Path) -> None:
    made = registry(tmp_path)
    assert (await made.rate("phi-4", 5)).rating == 5
    again = registry(tmp_path)
    assert again.search("phi-4")[0].rating == 5
    assert (await again.rate("phi-4", None)).rating is None
    assert load_user_records(tmp_path / "data" / "registry.json").ratings == {}


async def test_a_rating_given_under_another_name_is_replaced_not_kept_beside(
    tmp_path: Path,
) -> None:
    file = tmp_path / "data" / "registry.json"
    file.parent.mkdir()
    old = {"local://qwen3:8b": {"stars": 5, "at": 9.0}, "gone://Qwen3-8B": {"stars": 4, "at": 8.0}}
    file.write_text(json.dumps({"ratings": old}))
    made = registry(tmp_path)
    assert made.search("qwen3-8b")[0].rating == 5
    assert (await made.rate("qwen3-8b", None)).rating is None
    assert registry(tmp_path).search("qwen3-8b")[0].rating is None


@pytest.mark.parametrize(
    ("entry_id", "stars", "code"),
    [
        ("nothing", 3, ErrorCode.MODEL_NOT_FOUND),
        ("phi-4", 0, ErrorCode.BAD_REQUEST),
        ("phi-4", 6, ErrorCode.BAD_REQUEST),
    ],
)
async def test_a_rating_that_makes_no_sense_is_refused(
    tmp_path: Path, entry_id: str, stars: int, code: int
) -> None:
    with pytest.raises(AIError) as caught:
        await registry(tmp_path).rate(entry_id, stars)
    assert caught.value.code == code


async def test_a_rating_that_cannot_be_written_is_an_error_and_a_use_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    made = registry(tmp_path)
    with pytest.raises(AIError, match="could not be kept"):
        await made.rate("phi-4", 3)
    await made.note_use(ModelRef("local", "phi4:14b"))
    assert "A use of a model could not be kept" in caplog.text
    assert made.search("phi-4")[0].uses == 0


async def test_uses_are_counted_over_all_names_of_a_model(tmp_path: Path) -> None:
    clock = ManualClock(1_000.0)
    made = registry(tmp_path, clock=clock)
    await made.note_use(ModelRef("local", "phi4:14b"))
    clock.now = 2_000.0
    await made.note_use(ModelRef("embedded", "phi-4-Q4_K_M"))
    entry = made.entry("phi-4")
    assert entry is not None
    assert (entry.uses, entry.last_used_at) == (2, 2_000.0)
    assert registry(tmp_path).entry("phi-4") == entry


def test_what_the_engines_list_takes_the_place_of_what_they_listed_before(tmp_path: Path) -> None:
    made = registry(tmp_path)
    mine = ModelRef("local", "phi4:14b"), ModelInfo(name="phi4:14b")
    own = ModelRef("lab", "own-model"), ModelInfo(name="own-model")
    made.note_installed([mine, own])
    assert made.search("phi-4")[0].installed == (mine[0],)
    assert ids(made.search("own-model")) == ["lab://own-model"]
    made.note_installed([])
    assert made.search("phi-4")[0].installed == ()
    assert made.search("own-model") == []


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b""])
async def test_a_damaged_file_is_set_aside_with_a_log_line(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    file = tmp_path / "data" / "registry.json"
    file.parent.mkdir()
    file.write_bytes(content)
    made = registry(tmp_path)
    assert made.search("phi-4")[0].rating is None
    assert "registry.json is unreadable" in caplog.text
    await made.rate("phi-4", 4)
    assert file.with_name("registry.json.damaged").read_bytes() == content
    assert "registry.json was damaged" in caplog.text
    assert registry(tmp_path).search("phi-4")[0].rating == 4


def test_what_makes_no_sense_in_a_file_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "registry.json"
    ratings = {"a": {"stars": 9}, "b": {"stars": True}, "c": 3, "": {"stars": 3}, "d": {"stars": 3}}
    uses = {"local://m": {"count": 2, "last_at": "x"}, "n": {"count": -1}, "o": {}}
    file.write_text(json.dumps({"ratings": ratings, "uses": uses}))
    opinions = load_user_records(file)
    assert [*opinions.ratings] == ["d"]
    assert [(name, use.count, use.last_at) for name, use in opinions.uses.items()] == [
        ("local://m", 2, 0.0)
    ]
    hub = tmp_path / "hub.json"
    repos = [
        7,
        {},
        {"repo": "a/b"},
        {"repo": "c/d", "at": 1, "downloads": "many", "tags": [1, "x"]},
    ]
    hub.write_text(json.dumps({"repos": repos}))
    (fact,) = load_facts(hub).values()
    assert (fact.model, fact.at) == (HubModel(repo="c/d", tags=("x",)), 1.0)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("ratings", "uses", "repos", "repo", "at", "stars", "count", "last_at", "x")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(anything)
@settings(max_examples=40, deadline=None)
def test_whatever_a_file_holds_is_read_and_shown(
    tmp_path_factory: pytest.TempPathFactory, held: object
) -> None:
    folder = tmp_path_factory.mktemp("held")
    for name in ("data/registry.json", "cache/hub.json"):
        file = folder / name
        file.parent.mkdir()
        file.write_text(json.dumps(held))
    made = registry(folder)
    found = made.search(limit=10_000)
    assert len(found) >= 60
    assert all(entry_json(entry) and table_of([entry], str) for entry in found)


async def test_a_hub_that_counts_without_end_breaks_nothing(tmp_path: Path) -> None:
    endless = HubModel(
        repo="new/Thing", downloads=10**400, likes=-1, parameters=10**400, tags=("t" * 999,) * 99
    )
    (entry,) = await registry(tmp_path, ListedHub(endless)).search_hub("thing")
    assert (entry.downloads, entry.likes, entry.parameters) == (None, None, None)
    assert table_of([entry], str)


async def test_what_changes_while_it_is_put_together_is_in_it(tmp_path: Path) -> None:
    made = registry(tmp_path)
    mine = ModelRef("local", "my-own:7b")
    async with anyio.create_task_group() as group:
        group.start_soon(made.prepare)
        group.start_soon(made.prepare)
        await anyio.sleep(0)
        made.note_installed([(mine, ModelInfo(name=mine.model))])
    assert ids(made.search("my-own")) == ["local://my-own:7b"]


def test_the_cache_keeps_so_many_repositories_and_of_each_the_newest_word(tmp_path: Path) -> None:
    file = tmp_path / "hub.json"
    save_facts(file, [HubFacts(HubModel(repo=f"o/m{n}"), float(n)) for n in range(MAX_REPOS)])
    newer = HubFacts(HubModel(repo="O/M7", downloads=3), MAX_REPOS + 1.0)
    older = HubFacts(HubModel(repo="o/m9", downloads=3), 0.5)
    kept = save_facts(file, [newer, older, HubFacts(HubModel(repo="new/one"), MAX_REPOS + 2.0)])
    assert kept == load_facts(file)
    assert len(kept) == MAX_REPOS
    assert "o/m0" not in kept, "the oldest is out"
    assert (kept["o/m7"].model.downloads, kept["o/m9"].model.downloads) == (3, None)


def _use_often(file: Path, address: str, times: int, together: Barrier) -> None:
    together.wait(60)
    for _ in range(times):
        save_use(file, address, 1.0)


@pytest.mark.slow
def test_two_programs_count_together_and_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "alone" / "registry.json"
    apart = multiprocessing.get_context("spawn")
    together = apart.Barrier(3)
    others = [
        apart.Process(target=_use_often, args=(file, address, 10, together))
        for address in ("local://a", "local://b")
    ]
    for other in others:
        other.start()
    _use_often(file, "local://a", 10, together)
    for other in others:
        other.join(60)
    assert [other.exitcode for other in others] == [0, 0]
    uses = load_user_records(file).uses
    assert (uses["local://a"].count, uses["local://b"].count) == (20, 10)
    assert sorted(path.name for path in file.parent.iterdir()) == [
        ".registry.json.lock",
        "registry.json",
    ]


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "registry.json"
    save_use(file, "local://a", 1.0)
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
