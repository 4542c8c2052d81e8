"""The built-in list: complete, plausible, and with the pages that it is from."""

import json
import re
from collections import Counter
from datetime import date
from importlib.resources import files
from typing import Any

import pytest

from ollm_tui.library.registry.entry import PURPOSES, RegistryEntry
from ollm_tui.library.registry.known import load_curated

RAW: dict[str, Any] = json.loads(
    files("ollm_tui.library.registry").joinpath("models.json").read_text("utf-8")
)
ENTRIES = load_curated().entries
FREE = {"apache-2.0", "mit"}
WITH_TERMS = {"gemma", "llama3.1", "llama3.2", "llama3.3", "cc-by-nc-4.0"}
NEEDED = {
    "id", "name", "family", "description", "parameters", "licence", "purposes", "skills",
    "skills_from", "origins", "sources",
}  # fmt: skip
BITS = {
    "Q4_K_M": (4.3, 7.1),
    "Q8_0": (8.3, 8.9),
    "F16": (15.5, 16.8),
    "BF16": (15.5, 16.8),
    "MXFP4": (4.2, 4.8),
}
"""Bits a parameter; a small model's large table of words is kept at more bits than the rest."""
TEXT_PART = 0.78
"""How little of a model that sees pictures its file can hold: the encoder is a file of its own."""
UNCOUNTED = 1.05
"""Publishers round the count of parameters, or leave the table of words out."""

each = pytest.mark.parametrize("raw", RAW["models"], ids=lambda raw: raw["id"])


def test_the_list_has_a_date_and_a_model_once() -> None:
    assert date.fromisoformat(RAW["date"]) <= date(2100, 1, 1)
    assert RAW.keys() == {"date", "models"}
    assert 40 <= len(RAW["models"]) <= 80
    for key in ("id", "name"):
        assert max(Counter(raw[key] for raw in RAW["models"]).values()) == 1
    tags = [tag for raw in RAW["models"] if (tag := raw["origins"].get("ollama"))]
    assert len(tags) == len(set(tags))


@each
def test_an_entry_is_complete_and_says_where_it_is_from(raw: dict[str, Any]) -> None:
    assert raw.keys() - {"active_parameters", "context", "sizes"} == NEEDED
    assert 0 < raw.get("active_parameters", 1) < raw["parameters"]
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", raw["id"])
    assert raw["licence"] in FREE | WITH_TERMS
    assert raw["purposes"]
    assert set(raw["purposes"]) <= PURPOSES.keys()
    assert len(set(raw["purposes"])) == len(raw["purposes"])
    assert set(raw["skills"]) == set(raw["purposes"])
    assert all(skill in range(1, 6) for skill in raw["skills"].values())
    assert raw["skills_from"] in raw["sources"]
    assert all(re.fullmatch(r"https://[a-z.]+/\S+", page) for page in raw["sources"])
    assert raw["description"].endswith(".")
    assert raw["context"] >= 512 if "context" in raw else raw["family"] == "whisper"


@each
def test_an_entry_can_be_had_somewhere_and_names_the_page(raw: dict[str, Any]) -> None:
    origins = raw["origins"]
    assert origins
    assert origins.keys() <= {"huggingface", "ollama"}
    if "huggingface" in origins:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", origins["huggingface"])
        assert f"https://huggingface.co/{origins['huggingface']}" in raw["sources"]
    if "ollama" in origins:
        name, _, tag = origins["ollama"].partition(":")
        assert tag
        assert f"https://ollama.com/library/{name}" in raw["sources"]


@each
def test_the_sizes_are_what_so_many_parameters_come_to(raw: dict[str, Any]) -> None:
    least = TEXT_PART if "vision" in raw["purposes"] else 1 / UNCOUNTED
    for quantization, size in raw.get("sizes", {}).items():
        low, high = BITS[quantization]
        bits = size * 8 / raw["parameters"]
        assert low * least <= bits <= high * UNCOUNTED, (quantization, bits)
    ordered = [raw["sizes"][q] for q in ("Q4_K_M", "Q8_0", "F16") if q in raw.get("sizes", {})]
    assert ordered == sorted(ordered)


def test_every_purpose_has_models_and_most_of_them_are_free_to_use() -> None:
    held = Counter(purpose for entry in ENTRIES for purpose in entry.purposes)
    assert set(held) == set(PURPOSES)
    assert min(held.values()) >= 3
    assert sum(entry.licence in FREE for entry in ENTRIES) > len(ENTRIES) * 0.7


def test_the_list_is_read_as_entries() -> None:
    assert [entry.id for entry in ENTRIES] == [raw["id"] for raw in RAW["models"]]
    for entry, raw in zip(ENTRIES, RAW["models"], strict=True):
        assert isinstance(entry, RegistryEntry)
        assert entry.purposes == frozenset(raw["purposes"])
        assert entry.sources == tuple(raw["sources"])
        assert (entry.rating, entry.uses, entry.installed, entry.downloads) == (None, 0, (), None)
