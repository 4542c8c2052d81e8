"""`ollm models search` and `rate`: found, ordered, rated, from the command line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.cli.model_search import count_text, fit_column, table_of
from ollm_tui.config.paths import AppPaths
from ollm_tui.library.hub.repo import Hub, HubModel
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime import hub as hub_module
from tests.cli.conftest import Run
from tests.hostile.payloads import PAYLOADS
from tests.library.test_registry import ListedHub

PHI = HubModel(repo="bartowski/phi-4-GGUF", downloads=123_456, likes=9)
OWN = HubModel(repo="new/Thing-3B-GGUF", downloads=5, licence="mit", tags=("conversational",))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> ListedHub:
    """Give every registry a hub that answers what it holds."""
    made, asked = hub_module.make_registry, ListedHub(PHI, OWN)

    def with_hub(paths: AppPaths, hub: Hub | None = None) -> ModelRegistry:
        return made(paths, asked)

    monkeypatch.setattr(hub_module, "make_registry", with_hub)
    return asked


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on a machine with a card of 24 GB, of which all is free."""

    async def look(_probe: object = None) -> Machine:
        card = Gpu(name="card", total=24 * 10**9, free=24 * 10**9)
        return Machine(ram_total=32 * 10**9, ram_free=24 * 10**9, gpus=(card,))

    monkeypatch.setattr("ollm_tui.library.machine_probe.find_machine", look)


@pytest.fixture
def models(hub: ListedHub, machine: None, models: Run) -> Run:
    """Run `ollm models ...` with that hub, on that machine."""
    return models


def listed(out: str) -> Sequence[str]:
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_a_search_asks_the_hub_and_merges_what_is_here(models: Run, hub: ListedHub) -> None:
    code, out, err = models("search", "phi-4")
    assert (code, err) == (0, "")
    assert hub.asked == [("phi-4", 30)]
    head, first, *_ = out.splitlines()
    assert head.split() == [
        "MODEL", "PARAMETERS", "LICENCE", "PURPOSES", "SIZES", "OLLAMA", "DOWNLOADS", "FITS",
    ]  # fmt: skip
    assert first.split() == [
        "phi-4", "14.7B", "mit", "chat", "reasoning", "Q4_K_M", "9.1", "GB,", "Q8_0", "15.6", "GB",
        "phi4:14b", "123.5k", "Q8_0:", "GPU",
    ]  # fmt: skip
    assert listed(out)[-1] == "hf:new/Thing-3B-GGUF", "what the hub alone finds is last"


def test_a_model_of_a_server_is_found_with_its_address(models: Run) -> None:
    code, out, _ = models("search", "thinker", "--offline")
    assert (code, listed(out)) == (0, ["ollama://thinker:latest"])
    assert out.splitlines()[0].split()[-2:] == ["HERE", "FITS"]


def test_offline_no_server_is_asked_and_earlier_replies_are_found(
    models: Run, hub: ListedHub
) -> None:
    models("search", "thing")
    hub.asked.clear()
    code, out, err = models("search", "thing", "--offline")
    assert (code, err, hub.asked) == (0, "", [])
    assert listed(out) == ["hf:new/Thing-3B-GGUF"]


def test_a_hub_that_cannot_be_asked_is_a_line_and_the_rest_is_shown(
    models: Run, hub: ListedHub
) -> None:
    hub.problem = AIError(ErrorCode.SERVICE_UNAVAILABLE, "It is away.", hint="Try later.")
    code, out, err = models("search", "phi-4")
    assert (code, listed(out)[0]) == (0, "phi-4")
    assert err.splitlines() == [
        "ollm: It is away. Try later.",
        "ollm: Searched the built-in list, the cache and the installed models.",
    ]


def test_a_purpose_leaves_all_others_out(models: Run) -> None:
    code, out, _ = models("search", "--purpose", "speech")
    assert code == 0
    assert listed(out)
    assert all(name.startswith("whisper") for name in listed(out))
    assert listed(models("search", "thing", "--purpose", "chat")[1])[0] == "hf:new/Thing-3B-GGUF"


def test_nothing_found_is_reported_and_is_an_error(models: Run) -> None:
    code, out, err = models("search", "no such thing at all", "--offline")
    assert (code, out) == (1, "")
    assert err == "ollm: No models found. Try fewer words.\n"


def test_many_models_are_cut_and_it_is_reported(models: Run) -> None:
    code, out, err = models("search", "--offline")
    assert (code, len(listed(out))) == (0, 50)
    assert "These are the first 50" in err


def test_json_has_all_that_is_known_and_nothing_else(models: Run) -> None:
    code, out, err = models("search", "phi-4", "--json")
    first = json.loads(out)[0]
    assert (code, err) == (0, "")
    assert first.keys() == RegistryEntry.__dataclass_fields__.keys()
    assert (first["id"], first["downloads"], first["likes"]) == ("phi-4", 123_456, 9)
    assert json.loads(models("search", "nothing like it", "--offline", "--json")[1]) == []


@pytest.mark.parametrize("name", ["phi-4", "Phi-4 14B", "phi4:14b", "bartowski/phi-4-GGUF"])
def test_a_rating_is_given_by_any_name_and_shown(models: Run, name: str) -> None:
    assert models("rate", name, "4") == (0, "Phi-4 14B: 4 of 5\n", "")
    assert "4 of 5" in models("search", "phi-4", "--offline")[1].splitlines()[1]
    assert models("rate", name, "none") == (0, "Phi-4 14B: no rating\n", "")


def test_a_model_that_only_a_server_knows_is_rated_by_its_address(models: Run) -> None:
    assert models("rate", "ollama://thinker:latest", "4")[0] == 0
    code, out, _ = models("rate", "local://thinker:latest", "5", "--json")
    assert (code, json.loads(out)["rating"]) == (0, 5)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["rate", "phi", "3"], 1, "no model named 'phi'. Similar names: phi-4"),
        (["rate", "zzzqqq", "3"], 1, "`ollm models search` lists all models."),
        (["rate", "ggerganov/whisper.cpp", "3"], 2, "Use one of: whisper-tiny"),
        (["rate", "phi-4", "6"], 2, "STARS does not take '6'. Available: 1, 2, 3, 4, 5, none."),
        (["rate", "phi-4"], 2, "STARS"),
        (["search", "--purpose", "coding"], 2, "Did you mean 'code'?"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_with_a_next_step(
    models: Run, arguments: list[str], code: int, sentence: str
) -> None:
    ended, out, err = models(*arguments)
    assert (ended, out) == (code, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_no_word_of_a_hub_drives_the_terminal(models: Run, hub: ListedHub) -> None:
    hub.models = tuple(
        HubModel(repo=f"{n}/x{payload.text}", licence=payload.text, tags=(payload.text,))
        for n, payload in enumerate(PAYLOADS)
    )
    code, out, err = models("search", "x")
    assert code == 0
    assert "hf:0/x␛[2J" in out
    text = out + err
    assert not {c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0}
    assert "\u202e" not in text


def test_a_registry_file_that_cannot_be_written_is_a_sentence(
    models: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "blocked").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "blocked"))
    code, out, err = models("rate", "phi-4", "3")
    assert (code, out) == (1, "")
    assert "The rating could not be kept" in err


def test_a_judge_of_the_machine_has_a_column_and_unknown_ones_have_none() -> None:
    entries = [RegistryEntry(id="a", name="a"), RegistryEntry(id="b", name="b", downloads=7)]
    assert table_of(entries, str) == (["MODEL", "DOWNLOADS"], [("a", ""), ("b", "7")])
    head, rows = table_of(entries, str, lambda entry: "GPU" if entry.id == "a" else "")
    assert (head[-1], rows[0][-1]) == ("FITS", "GPU")
    long = RegistryEntry(id="x" * 500, name="x", installed=(ModelRef("local", "x"),))
    assert table_of([long], str)[1][0][0] == "x" * 59 + "…"


def test_an_address_in_the_table_is_as_people_write_it() -> None:
    here = ModelRef("embedded", "tiny")
    entry = RegistryEntry(id=str(here), name="tiny", installed=(here,))
    head, rows = table_of([entry], lambda ref: f"built-in://{ref.model}")
    assert dict(zip(head, rows[0], strict=True)) == {
        "MODEL": "built-in://tiny",
        "HERE": "built-in://tiny",
    }


@pytest.mark.parametrize(
    ("facts", "captured"),
    [
        ({"sizes": {"Q4_K_M": 5 * 10**9, "Q6_K": 7 * 10**9, "F16": 16 * 10**9}}, "Q6_K: GPU"),
        ({"sizes": {"Q4_K_M": 20 * 10**9, "Q2_K": 11 * 10**9}}, "Q4_K_M: 52 % GPU"),
        ({"sizes": {"Q4_K_M": 80 * 10**9, "Q8_0": 150 * 10**9}}, "too big"),
        ({"parameters": 8 * 10**9}, "GPU"),
        ({}, ""),
    ],
)
def test_the_size_to_take_is_judged(facts: Mapping[str, Any], captured: str) -> None:
    card = Gpu(name="card", total=12 * 10**9, free=12 * 10**9)
    judge = fit_column(Machine(ram_total=32 * 10**9, ram_free=24 * 10**9, gpus=(card,)))
    assert judge is not None
    assert judge(RegistryEntry(id="a", name="a", **facts)) == captured


def test_nothing_is_judged_where_the_machine_is_not_known() -> None:
    assert fit_column(Machine(ram_total=10)) is None


def test_counts_are_short() -> None:
    counts = (None, -1, 0, 999, 1000, 12_345, 596_000_000, 8_190_000_000)
    assert [count_text(count) for count in counts] == [
        "", "", "0", "999", "1k", "12.3k", "596M", "8.2B",
    ]  # fmt: skip
