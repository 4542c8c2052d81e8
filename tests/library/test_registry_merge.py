"""One entry a model, whoever tells of it and in whatever order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import (
    HubFacts,
    Rating,
    RegistrySources,
    Use,
    UserRecords,
    load_curated,
)
from ollm_tui.library.registry.merge import (
    hub_repo_in,
    merge,
    model_key,
    parameters_in,
    rating_names,
)
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from tests.library.registry_strategies import CURATED, known

CURATED_LIST = load_curated().entries


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (
            "qwen-3-8b",
            [
                "qwen3:8b",
                "qwen3:8b-q4_K_M",
                "Qwen/Qwen3-8B-GGUF",
                "bartowski/Qwen_Qwen3-8B-GGUF",
                "Qwen3-8B-Q4_K_M.gguf",
                "Qwen3-8B.Q8_0",
                "Qwen3-8B-UD-Q4_K_XL-00001-of-00002.gguf",
                "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M",
                "Qwen3-8B-bf16",
            ],
        ),
        ("llama-3.2-3b-instruct", ["Llama-3.2-3B-Instruct-IQ3_XXS", "llama3.2:3b-instruct-fp16"]),
        ("llama-3.1-8b-instruct", ["bartowski/Meta-Llama-3.1-8B-Instruct-GGUF"]),
        ("qwen-2.5-vl-7b", ["qwen2.5vl:7b", "Qwen2.5-VL-7B"]),
        ("gpt-oss-20b", ["gpt-oss:20b", "gpt-oss-20b-mxfp4.gguf", "openai/gpt-oss-20b"]),
        ("gemma-3n-e4b-it", ["unsloth/gemma-3n-E4B-it-GGUF", "gemma3n:e4b-it-q8_0"]),
        ("gguf", ["gguf"]),
    ],
)
def test_one_model_has_one_key_however_it_is_spelled(key: str, names: list[str]) -> None:
    assert {model_key(name) for name in names} == {key}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qwen3:8b", "qwen3:14b"),
        ("Qwen3-8B", "Qwen3-8B-Base"),
        ("qwen2.5:7b", "qwen2.5-coder:7b"),
        ("Qwen3-4B", "Qwen3-4B-Instruct-2507"),
        ("llama3.1:8b", "llama3.2:8b"),
        ("phi4", "phi4-mini"),
    ],
)
def test_another_size_tuning_or_edition_is_another_model(one: str, other: str) -> None:
    assert model_key(one) != model_key(other)


@given(st.text(max_size=400))
def test_any_text_has_a_key_and_the_key_is_its_own(text: str) -> None:
    key = model_key(text)
    assert len(key) <= 2 * 300 + 1
    assert (key == "") == (text[:300].strip() == "")


def test_a_repository_is_read_off_a_name_and_a_count_off_a_text() -> None:
    names = ["hf.co/Own/Repo:Q4", "huggingface.co/own/repo", "own/repo", "plain:8b", "a/b/c", "/x"]
    assert [hub_repo_in(name) for name in names] == ["own/repo"] * 3 + [None] * 3
    texts = ["8.2B", "137M", " 1.5 b", "big", "", None, 7, "9" * 50 + "B"]
    expected = [8_200_000_000, 137_000_000, 1_500_000_000, None, None, None, None, None]
    assert [parameters_in(text) for text in texts] == expected


def by_id(given: RegistrySources) -> dict[str, RegistryEntry]:
    entries = merge(given)
    kept = {entry.id: entry for entry in entries}
    assert len(kept) == len(entries), "each id comes once"
    return kept


@given(known, st.randoms(use_true_random=False))
@settings(max_examples=70, deadline=None)
def test_the_order_makes_no_difference(given: RegistrySources, random: object) -> None:
    hub, installed = list(given.hub), list(given.installed)
    random.shuffle(hub)  # type: ignore[attr-defined]
    random.shuffle(installed)  # type: ignore[attr-defined]
    ratings = dict(reversed([*given.opinions.ratings.items()]))
    uses = dict(reversed([*given.opinions.uses.items()]))
    mixed = replace(
        given, hub=hub, installed=installed, opinions=UserRecords(ratings=ratings, uses=uses)
    )
    assert by_id(mixed) == by_id(given)


@given(known)
@settings(max_examples=70, deadline=None)
def test_what_is_listed_twice_counts_once(given: RegistrySources) -> None:
    twice = replace(given, hub=[*given.hub] * 2, installed=[*given.installed] * 2)
    assert by_id(twice) == by_id(given)


@given(known)
@settings(max_examples=70, deadline=None)
def test_every_known_fact_is_in_an_entry(given: RegistrySources) -> None:
    entries = merge(given)
    assert {entry.id for entry in CURATED} <= {entry.id for entry in entries}
    at_hub = {entry.origins.get("huggingface", "").casefold() for entry in entries}
    assert {fact.model.repo.casefold() for fact in given.hub} <= at_hub
    here = [ref for entry in entries for ref in entry.installed]
    assert sorted(map(str, here)) == sorted({str(ref) for ref, _ in given.installed})
    rated = {entry.id for entry in entries if entry.rating is not None}
    names = [rating_names(given, entry_id) for entry_id in rated]
    assert frozenset().union(*names) == frozenset(given.opinions.ratings)
    assert sum(map(len, names)) == len(given.opinions.ratings), "each rating is one entry's"
    used = given.opinions.uses
    shown = {str(ref) for ref in here}
    least = sum(use.count for address, use in used.items() if address in shown)
    assert least <= sum(entry.uses for entry in entries) <= sum(u.count for u in used.values())


def listed(name: str, provider: str = "local", **facts: object) -> tuple[ModelRef, ModelInfo]:
    return ModelRef(provider, name), ModelInfo(name=name, **facts)  # type: ignore[arg-type]


def test_ollama_the_hub_and_a_file_are_one_model_of_the_built_in_list() -> None:
    fact = HubFacts(HubModel(repo="qwen/qwen3-8b-gguf", downloads=7, likes=3), 5.0)
    models = [listed("qwen3:8b"), listed("Qwen3-8B-Q4_K_M", "embedded"), listed("qwen3:14b")]
    entries = by_id(RegistrySources(curated=CURATED_LIST, hub=[fact], installed=models))
    assert entries.keys() == {entry.id for entry in CURATED_LIST}
    found = entries["qwen3-8b"]
    assert [str(ref) for ref in found.installed] == [
        "embedded://Qwen3-8B-Q4_K_M",
        "local://qwen3:8b",
    ]
    assert (found.downloads, found.likes, found.facts_at) == (7, 3, 5.0)
    assert found.licence == "apache-2.0"


def test_other_files_of_a_known_model_are_an_entry_that_takes_over_what_is_known_of_it() -> None:
    fact = HubFacts(HubModel(repo="somebody/Qwen3-8B-GGUF", downloads=1), 5.0)
    entry = by_id(RegistrySources(curated=CURATED_LIST, hub=[fact]))["hf:somebody/Qwen3-8B-GGUF"]
    assert (entry.family, entry.parameters, entry.skills["chat"]) == ("qwen3", 8_200_000_000, 4)
    assert entry.origins == {"huggingface": "somebody/Qwen3-8B-GGUF"}
    assert (entry.sizes, entry.downloads) == ({}, 1), "sizes and counts belong to the files"


def test_a_name_without_a_size_is_identified_by_what_the_server_reports() -> None:
    models = [
        listed("llama3.2:latest", details={"parameter_size": "3.2B"}),
        listed("llama3.2", "lab", details={"parameter_size": "1.2B"}),
        listed("llama3.2:latest", "other", details={"parameter_size": "90B"}),
    ]
    entries = by_id(RegistrySources(curated=CURATED_LIST, installed=models))
    assert str(entries["llama-3.2-3b-instruct"].installed[0]) == "local://llama3.2:latest"
    assert str(entries["llama-3.2-1b-instruct"].installed[0]) == "lab://llama3.2"
    assert entries["other://llama3.2:latest"].installed, "nothing of that size is known"


def test_a_base_model_of_the_hub_is_not_the_tuned_one() -> None:
    fact = HubFacts(HubModel(repo="somebody/Llama-3.2-3B-GGUF"), 1.0)
    entry = by_id(RegistrySources(curated=CURATED_LIST, hub=[fact]))[
        "hf:somebody/Llama-3.2-3B-GGUF"
    ]
    assert (entry.purposes, entry.skills) == (frozenset(), {})


def test_the_models_of_one_repository_stay_apart() -> None:
    fact = HubFacts(HubModel(repo="ggerganov/whisper.cpp", downloads=9), 1.0)
    entries = by_id(
        RegistrySources(
            curated=CURATED_LIST, hub=[fact], installed=[listed("whisper-small", "embedded")]
        )
    )
    assert {e.downloads for e in entries.values() if e.family == "whisper"} == {9}
    assert [e.id for e in entries.values() if e.installed] == ["whisper-small"]
    assert "hf:ggerganov/whisper.cpp" not in entries


def test_what_only_an_engine_knows_is_an_entry_with_its_facts() -> None:
    capability = ModelCapability(
        frozenset({"text", "image"}), frozenset({"text"}), frozenset({"multi_turn", "tool_use"})
    )
    details = {
        "family": "mine",
        "quantization": "Q4_K_M",
        "parameter_size": "7B",
        "context_trained": 4096,
    }
    mine = listed("mine:7b", size_bytes=5, capability=capability, details=details)
    entry = by_id(RegistrySources(installed=[mine, listed("mine-7b-Q8_0", "lab")]))[
        "lab://mine-7b-Q8_0"
    ]
    assert (entry.family, entry.parameters, entry.context) == ("mine", 7 * 10**9, 4096)
    assert (entry.sizes, len(entry.installed)) == ({"Q4_K_M": 5}, 2)
    assert entry.purposes == {"vision", "chat", "tools"}


def test_a_rating_and_a_use_follow_the_model_to_its_new_name() -> None:
    opinions = UserRecords(
        ratings={"local://qwen3:8b": Rating(2, 5.0), "hf:Qwen/Qwen3-8B-GGUF": Rating(5, 9.0)},
        uses={
            "local://qwen3:8b": Use(3, 7.0),
            "lab://Qwen3-8B": Use(1, 8.0),
            "x://gone": Use(1, 1),
        },
    )
    entry = by_id(RegistrySources(curated=CURATED_LIST, opinions=opinions))["qwen3-8b"]
    assert (entry.rating, entry.uses, entry.last_used_at) == (5, 4, 8.0)
    own = UserRecords(ratings={**opinions.ratings, "qwen3-8b": Rating(1, 0.0)})
    assert by_id(RegistrySources(curated=CURATED_LIST, opinions=own))["qwen3-8b"].rating == 1


def test_a_rated_model_that_no_list_has_any_more_is_still_there() -> None:
    opinions = UserRecords(ratings={"hf:gone/Model": Rating(4, 1.0), "lab://old": Rating(1, 1.0)})
    entries = by_id(RegistrySources(opinions=opinions))
    assert {entry.id: (entry.name, entry.rating) for entry in entries.values()} == {
        "hf:gone/Model": ("gone/Model", 4),
        "lab://old": ("old", 1),
    }
