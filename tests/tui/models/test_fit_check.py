"""Which models are judged, and for which window."""

from typing import TYPE_CHECKING

import pytest

from ollm_tui.library.fitting import EntryFit
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.tui.models.model_list import fit_check_for, is_here

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

GB = 1_000_000_000
FULL = {"gemma3": 6, "gptoss": 2}
REF = ModelRef("local", "m")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("Ollama at http://localhost:11434", True),
        ("Ollama at http://127.0.0.1:11434", True),
        ("Ollama at http://[::1]:11434", True),
        ("On this machine", True),
        ("Pool at http://localhost:1 and http://box:1", False),
        ("OpenAI at https://api.openai.com/v1", False),
        ("localhost at http://box:8000", False),
        (None, False),
    ],
)
def test_here_is_what_has_no_address_elsewhere(place: str | None, expected: bool) -> None:
    assert is_here(place) is expected


def judged(info: ModelInfo, place: str | None = "Ollama at http://localhost:1") -> int | None:
    fit = fit_check_for(Machine(ram_free=8 * GB), lambda _ref: place, FULL)(REF, info)
    return None if fit is None else fit.context


@pytest.mark.parametrize(
    ("info", "context"),
    [
        (ModelInfo(name="m", size_bytes=GB), 8192),
        (ModelInfo(name="m", size_bytes=GB, context=32768), 32768),
        (ModelInfo(name="m", size_bytes=GB, details={"context_trained": 2048}), 2048),
        (ModelInfo(name="m", size_bytes=GB, details={"context_trained": 131072}), 8192),
        (ModelInfo(name="m", size_bytes=GB, details={"context_trained": "x"}), 8192),
        (ModelInfo(name="m", size_bytes=None), None),
        (ModelInfo(name="m", size_bytes=-5), None),
    ],
)
def test_a_model_with_a_size_is_judged_for_the_window_it_would_have(
    info: ModelInfo, context: int | None
) -> None:
    assert judged(info) == context
    assert judged(info, "Ollama at http://box:11434") is None


def test_a_place_is_asked_for_once() -> None:
    asked: list[ModelRef] = []

    def place(ref: ModelRef) -> str:
        asked.append(ref)
        return "On this machine"

    judge = fit_check_for(Machine(ram_free=GB), place, FULL)
    for _turn in range(3):
        fit = judge(REF, ModelInfo(name="m", size_bytes=4 * GB))
        assert fit is not None
        assert fit.verdict == "no"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("details", "has_cache"),
    [
        ({"family": "llama"}, True),
        ({"family": "nomic-bert"}, False),
        ({"kind": "whisper"}, False),
        ({"family": "bert", "shape": {"layers": 24, "kv_heads": 16, "key_length": 64}}, False),
        ({"shape": {"layers": 2, "kv_heads": 1, "key_length": 8, "value_length": 8}}, True),
    ],
)
def test_what_keeps_no_cache_is_judged_without_one(
    details: dict[str, object], has_cache: bool
) -> None:
    info = ModelInfo(name="m", size_bytes=GB, details=details)  # type: ignore[arg-type]
    fit = fit_check_for(Machine(ram_free=8 * GB), lambda _ref: "On this machine", FULL)(REF, info)
    assert fit is not None
    assert (fit.cache > 0) is has_cache


def test_what_is_loaded_with_a_model_counts() -> None:
    judge = fit_check_for(Machine(ram_free=4 * GB), lambda _ref: "On this machine", FULL)
    alone = judge(REF, ModelInfo(name="m", size_bytes=GB))
    together = judge(REF, ModelInfo(name="m", size_bytes=GB, details={"loaded_with_bytes": 3 * GB}))
    assert alone is not None
    assert together is not None
    assert (alone.verdict, together.verdict) == ("cpu", "no")
    assert together.needed == alone.needed + 3 * GB


@pytest.mark.parametrize(
    ("family", "sliding"), [("gemma3", 29), ("gptoss", 17), ("llama", 0), (None, 0)]
)
def test_layers_with_a_window_keep_no_more_than_that(family: str | None, sliding: int) -> None:
    shape: JsonObject = {
        "layers": 34, "kv_heads": 4, "key_length": 256, "value_length": 256, "window": 1024,
    }  # fmt: skip
    details: JsonObject = {"shape": shape} | ({"family": family} if family else {})
    info = ModelInfo(name="m", size_bytes=GB, context=32_768, details=details)
    fit = fit_check_for(Machine(ram_free=8 * GB), lambda _ref: "On this machine", FULL)(REF, info)
    row = 4 * (256 + 256) * 2
    assert fit is not None
    assert fit.cache == row * ((34 - sliding) * 32_768 + sliding * 1536)


def test_the_built_in_engine_gets_no_graphics_card_that_it_does_not_use() -> None:
    card = Gpu(name="A card", total=8 * GB, free=8 * GB)
    machine = Machine(ram_free=8 * GB, gpus=(card,), engine_uses_gpus=False)
    judge = fit_check_for(machine, lambda _ref: "On this machine", FULL)
    info = ModelInfo(name="m", size_bytes=GB)
    verdicts = [
        fit.verdict if (fit := judge(ModelRef(provider, "m"), info)) else None
        for provider in ("local", "embedded")
    ]
    assert verdicts == ["gpu", "cpu"]
    found = [EntryFit(machine, by_server=on).of_size(GB, None) for on in (True, False)]
    assert [fit and fit.verdict for fit in found] == ["gpu", "cpu"]
