"""What the models screen says of memory, of problems, and of an empty list."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.models.messages import count_words, empty_words, memory_lines, problem_lines
from ollm_tui.tui.models.model_list import ModelListCache
from tests.tui.scripted import ScriptedRuntime

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def in_memory(size: int | None = 5_100_000_000, **details: Any) -> str:
    held = {} if size is None else {"memory_bytes": size}
    info = ModelInfo(name="qwen3:8b", size_bytes=size, details=held | details)
    (line,) = memory_lines({ModelRef("local", "qwen3:8b"): info}, NOW)
    return line


def until(**later: float) -> str:
    return (NOW + timedelta(**later)).isoformat()


@pytest.mark.parametrize(
    ("details", "line"),
    [
        (
            {"size_vram": 5_100_000_000, "expires_at": until(minutes=4)},
            "qwen3:8b · 5.1 GB, 100 % GPU · 4 min left",
        ),
        ({"size_vram": 0}, "qwen3:8b · 5.1 GB, 0 % GPU"),
        ({"size_vram": "all"}, "qwen3:8b · 5.1 GB"),
        ({"expires_at": until(seconds=20)}, "qwen3:8b · 5.1 GB · less than a minute left"),
        ({"expires_at": until(hours=5)}, "qwen3:8b · 5.1 GB · 5 h left"),
        ({"expires_at": until(seconds=-20)}, "qwen3:8b · 5.1 GB · unloading"),
        ({"expires_at": "2318-09-01T12:00:00+00:00"}, "qwen3:8b · 5.1 GB · stays"),
        ({"expires_at": "later"}, "qwen3:8b · 5.1 GB"),
        ({"expires_at": "2026-11-20T13:00:00"}, "qwen3:8b · 5.1 GB"),
    ],
)
def test_memory_is_named_with_where_and_until_when(details: dict[str, Any], line: str) -> None:
    assert in_memory(**details) == line


def test_memory_that_is_not_measured_is_named_all_the_same() -> None:
    assert in_memory(None) == "qwen3:8b · in memory"


def test_of_many_in_memory_some_are_named() -> None:
    running = {ModelRef("local", str(n)): ModelInfo(name=str(n)) for n in range(9)}
    lines = memory_lines(running, NOW)
    assert len(lines) == 4
    assert lines[-1] == "and 6 more in memory"


def test_a_problem_is_one_clean_line_with_its_next_step() -> None:
    error = AIError(ErrorCode.TIMEOUT, "It was\x1b[2J\nslow.", hint="Wait.")
    listings = [Listing(provider=str(n), label="Old\u202ePC", problem=error) for n in range(6)]
    lines = problem_lines(listings)
    assert lines[0] == "Old⟦U+202E⟧PC: It was␛[2J slow. Wait."
    assert lines[-1] == "and 2 more"
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("shown", "total", "by", "words"),
    [
        (1, 1, "", "1 model"),
        (7, 7, "", "7 models"),
        (12, 2000, "size", "12 of 2,000 models, by size"),
    ],
)
def test_models_are_counted(shown: int, total: int, by: str, words: str) -> None:
    assert count_words(shown, total, by) == words


def test_an_empty_list_says_why_and_what_to_do() -> None:
    def words(*listings: Listing, query: str = "", is_asking: bool = False) -> str:
        return empty_words(listings, query, is_asking=is_asking, again_key="F5", find_key="Ctrl+F")

    some = Listing(provider="local", label="Ollama", models=(ModelInfo(name="m"),))
    beside = "Ctrl+F searches for models to download."
    assert words(some, query="x\x1b") == f"No model matches 'x␛'.\n\n{beside}"
    assert words(is_asking=True) == "Loading models…"
    assert words().startswith("No models are installed.")
    assert "Press Ctrl+F to find and download one" in words()
    assert "ollama serve" in words()
    assert "press F5" in words()


def test_the_list_cache_reports_what_a_provider_has_no_more_but_not_when_it_fails() -> None:
    cache = ModelListCache(ScriptedRuntime().task_defaults)
    infos = (ModelInfo(name="a"), ModelInfo(name="b"))
    first = Listing(provider="local", label="Ollama", models=infos)
    assert cache.put(first) == []
    problem = AIError(ErrorCode.TIMEOUT, "It was slow.")
    down = Listing(provider="local", label="Ollama", problem=problem)
    assert ModelListCache(ScriptedRuntime().task_defaults).put(down) == []
    assert cache.put(Listing(provider="local", label="Ollama", models=infos[1:])) == [
        ModelRef("local", "a")
    ]
    assert cache.put(down) == []
    assert cache.entries() == []
    # what it had before it failed is what counts when it answers again
    assert cache.put(Listing(provider="local", label="Ollama")) == [ModelRef("local", "b")]


def test_the_list_cache_takes_what_is_in_memory_into_its_entries() -> None:
    cache = ModelListCache(ScriptedRuntime().task_defaults)
    cache.put(Listing(provider="local", label="Ollama", models=(ModelInfo(name="a"),)))
    assert cache.entries()[0].is_loaded is None
    cache.put_running({ModelRef("local", "a"): ModelInfo(name="a", context=4096)})
    (one,) = cache.entries()
    assert one.is_loaded
    assert one.context == 4096
