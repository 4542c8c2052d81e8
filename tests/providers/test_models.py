"""What servers tell about their models is read, and what they do not tell stays unknown."""

from typing import TYPE_CHECKING

import pytest

from ollm_tui.providers.anthropic import models as anthropic
from ollm_tui.providers.ollama import models as ollama
from ollm_tui.providers.openai_compatible import models as openai
from tests.support.corpus import Case, case_id, load_cases, needs_corpus

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue

CASES = load_cases("api_replies")


def of(backend: str, prefix: str) -> list[Case]:
    return [c for c in CASES if c["backend"] == backend and c["id"].startswith(prefix)]


@needs_corpus
@pytest.mark.parametrize("case", of("ollama", "ollama-tags"), ids=case_id)
def test_installed_models_are_listed(case: Case) -> None:
    found = ollama.read_tags(case["reply"])
    assert [info.name for info in found] == case["expected"]["models"]
    assert all(info.size_bytes and info.details["family"] for info in found)


@needs_corpus
@pytest.mark.parametrize("case", of("ollama", "ollama-ps"), ids=case_id)
def test_loaded_models_come_with_the_window_in_use(case: Case) -> None:
    running = ollama.read_running(case["reply"])
    assert list(running) == case["expected"]["running"]
    windows = {info.context for info in running.values()} or {None}
    assert windows == {case["expected"]["context_length"]}


@needs_corpus
@pytest.mark.parametrize("case", of("ollama", "ollama-show"), ids=case_id)
def test_a_model_is_described_without_guessing(case: Case) -> None:
    expected = case["expected"]
    info = ollama.read_show("m", case["reply"])
    assert info.details.get("context_trained") == expected["context_length"]
    assert info.context == expected.get("num_ctx")
    if expected["capabilities"] is None:
        assert info.capability is None
    else:
        assert info.capability is not None
        assert ("image" in info.capability.input) == ("vision" in expected["capabilities"])
        assert ("tool_use" in info.capability.features) == ("tools" in expected["capabilities"])
    if "parameters" in expected:
        pairs = [list(pair) for pair in ollama.read_parameters(case["reply"]["parameters"])]
        assert pairs == expected["parameters"]


LISTS = [c for c in CASES if c["path"].endswith("/v1/models") and "models" in c["expected"]]


@needs_corpus
@pytest.mark.parametrize("case", LISTS, ids=case_id)
def test_openai_style_lists_are_read_whatever_their_shape(case: Case) -> None:
    expected = case["expected"]
    found = openai.read_models(case["reply"])
    assert [info.name for info in found] == expected["models"]
    window = expected.get("context_length")
    if isinstance(window, int):
        assert found[0].context == window
    elif window is None:
        assert all(info.context is None for info in found)
    if "context_train" in expected:
        assert found[0].details["context_trained"] == expected["context_train"]


@needs_corpus
@pytest.mark.parametrize("case", of("anthropic", "anthropic-models"), ids=case_id)
def test_anthropics_list_comes_in_pages(case: Case) -> None:
    entries, after = anthropic.read_page(case["reply"])
    assert [info.name for info in anthropic.read_models(entries)] == case["expected"]["models"]
    assert after == case["expected"]["next_page_after"]
    assert anthropic.read_page(case["reply"] | {"has_more": False})[1] is None
    assert all(info.capability is None for info in anthropic.read_models(entries)), "not told"


def test_a_fine_tuned_model_without_a_window_has_its_parents() -> None:
    entries: list[JsonValue] = [
        {"id": "base", "parent": None, "max_model_len": 4096},
        {"id": "lora", "parent": "base", "max_model_len": None},
    ]
    assert [info.context for info in openai.read_models({"data": entries})] == [4096, 4096]


@needs_corpus
@pytest.mark.parametrize("case", of("lm studio", "lmstudio"), ids=case_id)
def test_lm_studio_lists_only_models_to_chat_with(case: Case) -> None:
    expected = case["expected"]
    found = openai.read_lmstudio(case["reply"])
    assert [info.name for info in found] == expected["chat_models"]
    assert [info.name for info in found if info.loaded] == expected["loaded"]
    for info in found:
        longest = expected["context_length"][info.name]
        assert longest == (info.context or info.details["context_trained"])
        assert info.loaded or info.context is None, "the window of a model not loaded is unknown"


@needs_corpus
@pytest.mark.parametrize("case", of("llama.cpp server", "llamacpp-props"), ids=case_id)
def test_llamacpp_tells_its_window_and_its_eyes(case: Case) -> None:
    (info,) = openai.with_props(openai.read_models([{"id": "m"}]), case["reply"])
    assert info.context == case["expected"]["context_length"]
    assert info.capability is not None
    assert ("image" in info.capability.input) == case["expected"]["vision"]


@needs_corpus
@pytest.mark.parametrize("case", of("koboldcpp", "koboldcpp-context"), ids=case_id)
def test_koboldcpp_tells_its_window(case: Case) -> None:
    assert openai.read_kobold_window(case["reply"]) == case["expected"]["context_length"]


@pytest.mark.parametrize("reply", [None, 1, "x", [], [1], {}, {"models": None}, {"data": 3}])
def test_nonsense_in_place_of_a_list_is_an_empty_list(reply: object) -> None:
    assert ollama.read_tags(reply) == openai.read_models(reply) == openai.read_lmstudio(reply) == []  # type: ignore[arg-type]
    assert ollama.read_running(reply) == {}  # type: ignore[arg-type]
    assert ollama.read_show("m", reply).capability is None  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["²", "9" * 5000, "-1", "many"])
def test_a_window_that_is_no_number_stays_unknown(value: str) -> None:
    assert ollama.read_show("m", {"parameters": f"num_ctx {value}"}).context is None
