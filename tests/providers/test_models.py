"""What servers tell about their models is read, and what they do not tell stays unknown."""

import json
from typing import TYPE_CHECKING

import pytest

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.anthropic import models as anthropic
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.http_provider import count_tokens_in, read_token_count
from ollm_tui.providers.ollama import models as ollama
from ollm_tui.providers.openai_compatible import models as openai
from ollm_tui.providers.openai_compatible.kobold import read_capability, read_window
from ollm_tui.providers.openai_compatible.llamacpp import is_loading
from ollm_tui.providers.openai_compatible.llamacpp_models import (
    read_router,
    read_statuses,
    with_props,
)
from ollm_tui.providers.openai_compatible.lmstudio import read_instances, read_lmstudio
from ollm_tui.providers.openai_compatible.localai import (
    job_failure,
    read_capabilities,
    read_gallery,
)
from ollm_tui.providers.openai_compatible.models import DRAWS, EMBEDS
from tests.support.corpus import Case, case_id, load_cases, needs_corpus

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject, JsonValue

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
def test_lm_studio_says_which_models_chat_and_which_embed(case: Case) -> None:
    expected = case["expected"]
    found = read_lmstudio(case["reply"])
    chat = [info for info in found if info.capability != EMBEDS]
    assert [info.name for info in chat] == expected["chat_models"]
    assert len(found) > len(chat) or case["path"].endswith("/v0/models")
    assert [info.name for info in chat if info.loaded] == expected["loaded"]
    for info in chat:
        longest = expected["context_length"][info.name]
        assert longest == (info.context or info.details["context_trained"])
        assert info.loaded or info.context is None, "the window of a model not loaded is unknown"


@needs_corpus
@pytest.mark.parametrize("case", of("llama.cpp server", "llamacpp-props"), ids=case_id)
def test_llamacpp_tells_its_window_and_its_eyes(case: Case) -> None:
    (info,) = with_props(openai.read_models([{"id": "m"}]), case["reply"])
    assert info.context == case["expected"]["context_length"]
    assert info.capability is not None
    assert ("image" in info.capability.input) == case["expected"]["vision"]


@needs_corpus
@pytest.mark.parametrize("case", of("koboldcpp", "koboldcpp-context"), ids=case_id)
def test_koboldcpp_tells_its_window(case: Case) -> None:
    assert read_window(case["reply"]) == case["expected"]["context_length"]


@needs_corpus
@pytest.mark.parametrize("case", of("koboldcpp", "koboldcpp-version"), ids=case_id)
def test_koboldcpp_tells_its_senses_and_nothing_of_tools(case: Case) -> None:
    senses = read_capability(case["reply"])
    assert senses is not None
    assert (senses.input, senses.features) == (frozenset({"text"}), frozenset())


@needs_corpus
@pytest.mark.parametrize("case", of("llama.cpp server", "llamacpp-tokenize"), ids=case_id)
def test_llamacpps_tokens_are_counted_with_and_without_pieces(case: Case) -> None:
    assert count_tokens_in(case["reply"], "tokens") == case["expected"]["count"]


@needs_corpus
@pytest.mark.parametrize("case", of("vllm", "vllm-tokenize"), ids=case_id)
def test_vllms_tokens_are_counted_by_the_server(case: Case) -> None:
    assert read_token_count(case["reply"], "count") == case["expected"]["count"]


@needs_corpus
@pytest.mark.parametrize("case", of("llama.cpp server", "llamacpp-health"), ids=case_id)
def test_a_llamacpp_that_loads_is_known_by_its_error(case: Case) -> None:
    place = Endpoint("p", "llama.cpp", "localhost", "Start it.")
    error = http_error(Head(503), json.dumps(case["reply"]).encode(), place)
    assert is_loading(error) is not case["expected"]["ready"]
    busy = http_error(Head(503), b'{"error":{"message":"no slot","type":"server_error"}}', place)
    assert not is_loading(busy)


def test_props_of_older_builds_leave_unknown_what_they_do_not_tell() -> None:
    (info,) = with_props(openai.read_models([{"id": "m"}]), {"modalities": {"vision": False}})
    assert info.capability is not None
    assert info.capability.features == frozenset(), "unknown, not without tools"
    (silent,) = with_props(openai.read_models([{"id": "m", "meta": {"n_ctx": 512}}]), None)
    assert (silent.context, silent.loaded, silent.capability) == (512, None, None)


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"context_window": 131072, "active": True}, 131072),
        ({"max_context_length": 32768, "capabilities": {"completion_chat": True}}, 32768),
        ({"context_length": 8192, "type": "chat"}, 8192),
        ({"context_length": 200000, "top_provider": {"context_length": 128000}}, 200000),
    ],
)
def test_a_service_tells_its_window_under_its_own_name(entry: "JsonObject", window: int) -> None:
    (info,) = openai.read_models([{"id": "m", **entry}])
    assert info.context == window


def test_services_tell_what_their_models_can_do_and_what_cannot_chat_is_left_out() -> None:
    seeing: JsonObject = {
        "id": "sees",
        "architecture": {"input_modalities": ["text", "image", "file"]},
        "supported_parameters": ["tools", "reasoning", "response_format"],
    }
    entries: list[JsonValue] = [
        seeing,
        {
            "id": "draws",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]},
        },
        {"id": "mistral", "capabilities": {"completion_chat": True, "function_calling": False}},
        {"id": "ocr", "capabilities": {"completion_chat": False, "vision": True}},
        {"id": "flux", "type": "image"},
        {"id": "llama", "type": "chat"},
    ]
    found = {info.name: info.capability for info in openai.read_models(entries)}
    assert list(found) == ["sees", "draws", "mistral", "ocr", "flux", "llama"]
    assert [name for name, made in found.items() if made and "text" not in made.output] == [
        "draws",
        "ocr",
        "flux",
    ]
    assert found["flux"] == DRAWS
    assert found["sees"] is not None
    assert found["sees"].input == {"text", "image"}
    assert found["sees"].features >= {"tool_use", "thinking", "json_mode"}
    assert found["mistral"] is not None
    assert "tool_use" not in found["mistral"].features
    assert found["llama"] is None


def test_an_older_lm_studio_leaves_tools_unknown_and_a_newer_one_tells() -> None:
    entry: JsonObject = {"id": "m", "type": "llm", "state": "loaded"}
    (older,) = read_lmstudio({"data": [entry]})
    (newer,) = read_lmstudio({"data": [{**entry, "capabilities": ["tool_use"]}]})
    assert older.capability is not None
    assert newer.capability is not None
    assert not older.capability.features
    assert "tool_use" in newer.capability.features


def test_lm_studio_answers_through_the_instance_that_has_the_models_name() -> None:
    instances: list[JsonValue] = [
        {"id": "m:2", "config": {"context_length": 2048}},
        {"id": "m", "config": {"context_length": 4096}},
    ]
    listing: JsonObject = {"models": [{"key": "m", "type": "llm", "loaded_instances": instances}]}
    assert [info.context for info in read_lmstudio(listing)] == [4096]
    assert read_instances(listing, "m") == ["m:2", "m"]
    assert read_instances(listing, "m:2") == ["m:2"]
    assert read_instances(listing, "x") is None


@pytest.mark.parametrize("reply", [None, 1, "x", [], [1], {}, {"models": None}, {"data": 3}])
def test_nonsense_in_place_of_a_list_is_an_empty_list(reply: object) -> None:
    assert ollama.read_tags(reply) == openai.read_models(reply) == read_lmstudio(reply) == []  # type: ignore[arg-type]
    assert ollama.read_running(reply) == {}  # type: ignore[arg-type]
    assert ollama.read_show("m", reply).capability is None  # type: ignore[arg-type]
    assert not read_capabilities(reply)  # type: ignore[arg-type]
    assert (read_statuses(reply), read_router(reply, {})) == ({}, [])  # type: ignore[arg-type]
    assert read_gallery(reply) == set()  # type: ignore[arg-type]
    assert job_failure(reply) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["²", "9" * 5000, "-1", "many"])
def test_a_window_that_is_no_number_stays_unknown(value: str) -> None:
    assert ollama.read_show("m", {"parameters": f"num_ctx {value}"}).context is None


READ_ELSEWHERE = {
    "ollama-version",  # in test_ollama_operations.py
    "koboldcpp-tags-is-not-ollama",  # in test_discovery.py
}


@needs_corpus
def test_no_recorded_reply_is_passed_over() -> None:
    marks = [mark for test in globals().values() for mark in getattr(test, "pytestmark", ())]
    tried = [case for mark in marks if mark.name == "parametrize" for case in mark.args[1]]
    read = {case["id"] for case in tried if isinstance(case, dict) and "id" in case}
    assert {case["id"] for case in CASES} == read | READ_ELSEWHERE


OPENED = "{{ .Prompt }}<|Assistant|><think>\n"


@pytest.mark.parametrize(
    ("reply", "opens"),
    [
        ({"template": OPENED, "capabilities": ["completion"]}, True),
        ({"template": OPENED}, True),
        ({"template": OPENED, "capabilities": ["completion", "thinking"]}, None),
        ({"template": OPENED, "renderer": "qwen3"}, None),
        ({"template": "{{ .Prompt }}"}, None),
    ],
)
def test_thinking_that_a_template_opens_and_ollama_does_not_know_is_a_detail(
    reply: "JsonObject", opens: bool | None
) -> None:
    assert ollama.read_show("m", reply).details.get("opens_thinking") is opens


def test_thinking_that_the_template_of_a_llama_server_opens_is_a_detail() -> None:
    template = "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}"
    for given, opens in ((template, True), ("{{ messages }}", None)):
        (info,) = with_props([ModelInfo(name="m")], {"chat_template": given})
        assert info.details.get("opens_thinking") is opens
