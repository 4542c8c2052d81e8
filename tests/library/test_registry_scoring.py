"""What a search of the registry puts first."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import load_curated
from ollm_tui.library.registry.scoring import SearchEntry, score, search
from ollm_tui.protocol.model import ModelRef

NOW = 1_800_000_000.0
LIST = load_curated().entries
words = st.sampled_from(("qwen", "chat", "8b", "mo", "zz", ""))
entries = st.builds(
    RegistryEntry,
    id=st.text("abc", min_size=1, max_size=3),
    name=st.sampled_from(("Qwen 8B", "model", "Mo Chat", "x")),
    purposes=st.frozensets(st.sampled_from(("chat", "code")), max_size=2),
    skills=st.dictionaries(st.sampled_from(("chat", "code")), st.integers(1, 5), max_size=2),
    downloads=st.none() | st.integers(0, 10**8),
    modified_at=st.none() | st.sampled_from(("2026-01-02T03:04:05.000Z", "soon", "9999-99")),
    rating=st.none() | st.integers(1, 5),
    uses=st.integers(0, 1000),
    last_used_at=st.none() | st.floats(0, 2e9),
)


def found(known: list[RegistryEntry], text: str = "", **asked: object) -> list[RegistryEntry]:
    prepared = [SearchEntry.of(entry) for entry in known]
    return [*search(prepared, text, now=NOW, **asked)]  # type: ignore[arg-type]


def ids(text: str, **asked: object) -> list[str]:
    return [entry.id for entry in found([*LIST], text, **asked)]


@given(st.lists(entries, max_size=8, unique_by=lambda one: one.id), st.lists(words, max_size=2))
@settings(max_examples=80)
def test_the_order_is_one_whatever_order_things_come_in(
    known: list[RegistryEntry], asked: list[str]
) -> None:
    text = " ".join(asked)
    forwards = found(known, text)
    assert found([*reversed(known)], text) == forwards
    assert found(known, text, limit=2) == forwards[:2]
    for_code = [one for one in known if "code" in one.purposes]
    assert found(known, text, purpose="code") == found(for_code, text, purpose="code")


@given(entries, st.sampled_from((None, "chat", "code")))
@settings(max_examples=80)
def test_more_of_what_is_good_never_scores_less(one: RegistryEntry, purpose: str | None) -> None:
    before = score(one, purpose=purpose, now=NOW)
    better = [
        replace(one, rating=min(5, (one.rating or 3) + 1)),
        replace(one, uses=one.uses + 1),
        replace(one, downloads=(one.downloads or 0) + 1000),
        replace(one, last_used_at=NOW),
        replace(one, skills={"chat": 5, "code": 5}),
    ]
    assert all(score(changed, purpose=purpose, now=NOW) >= before for changed in better)
    assert abs(before) < 10


def test_the_words_count_first_and_then_the_score() -> None:
    assert ids("qwen3-8b")[0] == "qwen3-8b"
    assert ids("qwen3:8b")[0] == "qwen3-8b"
    assert ids("llama 70b") == ["llama-3.3-70b-instruct"]
    assert set(ids("vision small")) >= {"gemma-3-4b-it", "moondream2"}
    assert ids("mit gemma") == []


def test_letters_scattered_over_a_name_count_only_where_nothing_else_fits() -> None:
    assert "mistral-nemo-12b" in ids("mstrlnm")
    assert ids("qw zqx") == []
    assert ids("zq") == []


@pytest.mark.parametrize(
    ("purpose", "first"),
    [("embedding", "qwen3-embedding-8b"), ("speech", "whisper-large-v3"), ("code", None)],
)
def test_a_purpose_asks_for_its_skill(purpose: str, first: str | None) -> None:
    given = found([*LIST], purpose=purpose)
    assert given
    assert all(purpose in entry.purposes for entry in given)
    assert first in {None, given[0].id}
    skills = [entry.skills[purpose] for entry in given]
    assert skills == sorted(skills, reverse=True)


def test_ratings_and_uses_of_the_user_outweigh_download_counts() -> None:
    loved = RegistryEntry(id="a", name="m", rating=5)
    used = RegistryEntry(id="b", name="m", uses=40, last_used_at=NOW)
    popular = RegistryEntry(id="c", name="m", downloads=10**7, modified_at="2027-01-01T00:00:00Z")
    plain = RegistryEntry(id="d", name="m")
    disliked = RegistryEntry(id="e", name="m", downloads=10**7, rating=1)
    order = [entry.id for entry in found([disliked, plain, popular, used, loved])]
    assert order == ["a", "b", "c", "d", "e"]


def test_a_model_is_found_by_the_address_it_has_here() -> None:
    here = RegistryEntry(id="x", name="X", installed=(ModelRef("lab", "my-own:7b"),))
    assert found([here], "lab://my-own:7b") == [here]
    assert found([here], "own") == [here]
