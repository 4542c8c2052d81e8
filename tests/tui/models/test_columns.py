"""Columns of the models screen at any width, what stands in them, and how they sort."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ollm_tui.library.fit import Fit
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.tui.models.columns import (
    COLUMNS,
    Sorting,
    arranged,
    columns_for,
    next_sorting,
    sorted_by,
)
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.widgets import GAP
from tests.tui.models.scenes import OLLAMA

NAMES = st.text(max_size=12)
INFOS = st.builds(
    lambda name, size, modified, context, loaded, quantization: ModelInfo(
        name=name,
        size_bytes=size,
        modified_at=modified,
        context=context,
        loaded=loaded,
        details={"quantization": quantization},
    ),
    NAMES,
    st.none() | st.integers(-1, 10**13),
    st.none() | st.sampled_from(["2026-11-02T10:00:00Z", "2026-11-02", "soon", "0001-01-01"]),
    st.none() | st.integers(0, 10**7),
    st.none() | st.booleans(),
    st.none() | st.integers() | st.text(max_size=9),
)
ENTRIES = st.lists(INFOS, max_size=12).map(
    lambda infos: [entry(info, number) for number, info in enumerate(infos)]
)
COLUMN_IDS = st.sampled_from([column.id for column in COLUMNS])


def entry(info: ModelInfo, number: int = 0, **further: Any) -> ModelEntry:
    return ModelEntry(ModelRef(f"p{number}", info.name), info, "Ollama", **further)


def text(column_id: str, one: ModelEntry) -> str:
    return next(column.text(one) for column in COLUMNS if column.id == column_id)


@given(st.integers(1, 400), st.booleans())
def test_columns_fit_any_width_and_begin_with_the_name(width: int, has_fit: bool) -> None:
    columns = columns_for(width, has_fit=has_fit)
    assert columns[0].id == "name"
    assert sum(column.width for column in columns) + GAP * (len(columns) - 1) <= width
    assert len(columns) <= len(columns_for(width + 1, has_fit=has_fit))
    assert width < 116 or len(columns) == len(COLUMNS) - (not has_fit)


@given(INFOS, st.integers(1, 400))
def test_every_cell_is_as_wide_as_its_column(info: ModelInfo, width: int) -> None:
    for column in columns_for(width, has_fit=True):
        assert cell_len(column.cell(entry(info))) == column.width


@given(ENTRIES, COLUMN_IDS, st.booleans())
def test_what_is_unknown_comes_last_and_equals_keep_their_order(
    entries: list[ModelEntry], column_id: Any, is_descending: bool
) -> None:
    key_of = next(column.key for column in COLUMNS if column.id == column_id)
    found = arranged(entries, "", Sorting(column_id, is_descending), [])
    assert sorted(map(id, found)) == sorted(map(id, entries))
    keys: list[Any] = [key_of(one) for one in found]
    known = [key for key in keys if key is not None]
    assert keys == known + [None] * (len(keys) - len(known))
    assert known == sorted(known, reverse=is_descending)
    places = {id(one): place for place, one in enumerate(entries)}
    for one, other in pairwise(found):
        if key_of(one) == key_of(other):
            assert places[id(one)] < places[id(other)]


def test_going_on_sorts_by_each_column_and_then_by_none() -> None:
    columns = columns_for(200, has_fit=False)
    seen, now = [], next_sorting(None, columns)
    while now is not None:
        seen.append(now.column)
        now = next_sorting(now, columns)
    assert seen == [column.id for column in columns]
    assert sorted_by("size").is_descending
    assert not sorted_by("name").is_descending
    # a column that no longer has room
    assert next_sorting(Sorting("modified"), columns_for(60, has_fit=False)) == Sorting("name")


@pytest.mark.parametrize(
    ("loaded", "memory", "shown"),
    [
        (True, None, "●"),
        (False, None, ""),
        (None, None, ""),
        (False, (100, 100), "● GPU"),
        (True, (100, 0), "● CPU"),
        (None, (100, 47), "● 47 %"),
        (True, (0, 5), "●"),
        (True, (-4, 5), "●"),
    ],
)
def test_loaded_says_where(loaded: bool | None, memory: tuple[int, int] | None, shown: str) -> None:
    running = None
    if memory is not None:
        details = {"memory_bytes": memory[0], "size_vram": memory[1]}
        running = ModelInfo(name="m", size_bytes=memory[0], details=details)
    assert text("loaded", entry(ModelInfo(name="m", loaded=loaded), running=running)) == shown


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        (ModelInfo(name="m", context=32768), "32k"),
        (ModelInfo(name="m", context=40000, chosen=frozenset({"context"})), "40k!"),
        (ModelInfo(name="m", details={"context_trained": 131072}), "≤128k"),
        (ModelInfo(name="m", details={"context_trained": "many"}), ""),
        (ModelInfo(name="m"), ""),
    ],
)
def test_context_is_what_is_in_use_else_what_it_was_trained_with(
    info: ModelInfo, shown: str
) -> None:
    assert text("context", entry(info)) == shown


TEXT = frozenset({"text"})


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        (ModelInfo(name="m"), "chat?"),
        (ModelInfo(name="m", capability=ModelCapability(TEXT, TEXT)), "chat"),
        (
            ModelInfo(name="m", assumed=ModelCapability(TEXT, frozenset({"embedding"}))),
            "embedding?",
        ),
        (ModelInfo(name="m", assumed=ModelCapability(TEXT, frozenset({"score"}))), "rerank?"),
        (ModelInfo(name="m", capability=ModelCapability(TEXT, frozenset({"score"}))), "rerank"),
        (ModelInfo(name="m", capability=ModelCapability(TEXT, frozenset({"audio"}))), "audio"),
        (ModelInfo(name="m", capability=ModelCapability(TEXT, frozenset({"image"}))), "image"),
        (
            ModelInfo(name="m", capability=ModelCapability(TEXT | {"image", "audio"}, TEXT)),
            "chat vision audio",
        ),
    ],
)
def test_capabilities_are_words(info: ModelInfo, shown: str) -> None:
    assert text("can", entry(info)) == shown


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [("gpu", "GPU"), ("partly", "50 % GPU"), ("cpu", "CPU"), ("no", "too big"), ("unknown", "?")],
)
def test_fit_is_a_word(verdict: Any, shown: str) -> None:
    fit = Fit(
        verdict=verdict,
        weights=1,
        cache=1,
        overhead=1,
        context=4096,
        kv_type="f16",
        machine=Machine(),
        gpu_share=0.5,
    )
    assert text("fit", entry(ModelInfo(name="m"), fit=fit)) == shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("vision", ["llava:13b"]),
        ("thinking tools", ["qwen3:8b"]),
        ("thinks", ["qwen3:8b"]),
        ("embedding", ["nomic-embed-text:latest"]),
        ("q4_k_m", ["llama3.3:70b-instruct-q4_K_M", "qwen3:8b"]),
        ("ollama llav", ["llava:13b"]),
        ("q38", ["qwen3:8b"]),
        ("vision thinking", []),
        ("ion", []),
    ],
)
def test_all_words_have_to_match(query: str, found: list[str]) -> None:
    entries = [entry(info) for info in OLLAMA.models[:4]]
    assert [one.name for one in arranged(entries, query, None, [])] == found


def test_without_a_sorting_the_models_used_lately_come_first() -> None:
    entries = [entry(info) for info in OLLAMA.models[:4]]
    recents = ["p0://nomic-embed-text:latest", "p0://llava:13b"]
    first, second, *_others = arranged(entries, "", None, recents)
    assert (first.name, second.name) == ("nomic-embed-text:latest", "llava:13b")
