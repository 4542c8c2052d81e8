"""What each backend is sent to switch each kind of model, and where its answer begins.

The models are those of the families that come with the app.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.thinking import ThinkingSupport, on_engine, resolve_thinking
from ollm_tui.models.thinking_switch import tags_for
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import (
    THINKING_LEVELS,
    GenerationOptions,
    Request,
    ThinkingSwitch,
    plan_of,
)
from ollm_tui.providers.anthropic.llamacpp import LlamaCppMessagesProvider, as_llamacpp
from ollm_tui.providers.anthropic.to_wire import chat_body as anthropic_body
from ollm_tui.providers.http_provider import with_default_keys
from ollm_tui.providers.ollama.to_wire import chat_body as ollama_body
from ollm_tui.providers.openai_compatible.to_wire import chat_body as openai_body
from ollm_tui.providers.spec import ProviderSpec

ASK = Request(model="m", system_prompt="Be kind.", messages=[Message("user", "hi")])
Case: TypeAlias = tuple[str, str, str, Mapping[str, object] | str, bool]
"""Model, backend, level, what is sent beside the plain body, and whether the answer begins inside.

A text is a refusal; `words` is the newest message, `system` the system prompt."""


def body_of(request: Request, backend: str, on_left_out: Callable[[LeftOut], object]) -> JsonObject:
    if backend == "ollama":
        return ollama_body(request, on_left_out)
    if backend == "anthropic":
        return anthropic_body(request, "s", None, on_left_out)
    return openai_body(request, backend, on_left_out)


def sent(request: Request, backend: str) -> Mapping[str, object] | str:
    """Return what the plan adds to a body, or the refusal."""
    left_out: list[LeftOut] = []
    try:
        body: dict[str, Any] = dict(body_of(request, backend, left_out.append))
    except AIError as error:
        return str(error)
    plain: dict[str, Any] = dict(body_of(ASK, backend, left_out.append))
    added: dict[str, object] = {k: v for k, v in body.items() if plain.get(k) != v}
    messages: list[dict[str, object]] = body["messages"]
    if added.pop("messages", None) is not None:
        first, newest = messages[0]["content"], messages[-1]
        added |= {"system": first} if first != "Be kind." else {}
        added |= {"begun": newest["content"]} if newest["role"] == "assistant" else {}
        is_words = newest["role"] == "user" and newest["content"] != "hi"
        added |= {"words": newest["content"]} if is_words else {}
    return added | ({"lost": True} if left_out else {})


def argument(**values: object) -> dict[str, object]:
    return {"chat_template_kwargs": values}


THINKS, PLAIN = {"think": True}, {"think": False}
NO_WAY = "This server has no way to switch off the thinking of this model."
ALWAYS = "This model always thinks: it cannot be switched off."
CASES: Sequence[Case] = (
    ("qwen3:8b", "ollama", "none", {}, False),
    ("qwen3:8b", "ollama", "on", THINKS, False),
    ("qwen3:8b", "ollama", "off", PLAIN, False),
    ("qwen3:8b", "ollama", "low", THINKS, False),
    ("qwen3:8b", "vllm", "none", {}, False),
    ("qwen3:8b", "vllm", "deep", argument(enable_thinking=True), False),
    ("qwen3:8b", "vllm", "off", argument(enable_thinking=False), False),
    ("qwen3:8b", "llamacpp", "off", argument(enable_thinking=False), False),
    ("qwen3:8b", "embedded", "on", argument(enable_thinking=True), False),
    ("qwen3:8b", "lmstudio", "on", {"words": "hi /think"}, False),
    ("qwen3:8b", "lmstudio", "off", {"words": "hi /no_think"}, False),
    ("qwen3:8b", "kobold", "off", {"words": "hi /no_think"}, False),
    ("qwen3:8b", "generic", "last", "This model does not know the thinking mode 'last'.", False),
    ("Qwen3.5-35B-A3B", "vllm", "none", {}, True),
    ("Qwen3.5-35B-A3B", "vllm", "on", argument(enable_thinking=True), True),
    ("Qwen3.5-35B-A3B", "vllm", "off", argument(enable_thinking=False), False),
    ("Qwen3.5-35B-A3B", "embedded", "on", argument(enable_thinking=True), True),
    ("Qwen3.5-35B-A3B", "generic", "on", {}, True),
    ("Qwen3.5-35B-A3B", "generic", "off", NO_WAY, False),
    ("gpt-oss:20b", "ollama", "off", ALWAYS, False),
    ("gpt-oss:20b", "ollama", "on", {"think": "medium"}, False),
    ("gpt-oss:20b", "ollama", "high", {"think": "high"}, False),
    (
        "gpt-oss:20b",
        "vllm",
        "low",
        {"reasoning_effort": "low", **argument(reasoning_effort="low")},
        False,
    ),
    ("gpt-oss:20b", "lmstudio", "low", {"reasoning_effort": "low"}, False),
    ("DeepSeek-V3.1", "vllm", "none", {}, False),
    ("DeepSeek-V3.1", "vllm", "on", argument(thinking=True), True),
    ("DeepSeek-V3.1", "vllm", "off", argument(thinking=False), False),
    ("DeepSeek-V3.1", "generic", "off", {}, False),
    ("DeepSeek-V3.1", "generic", "on", NO_WAY.replace("off", "on"), False),
    ("DeepSeek-R1-Distill-Qwen-7B", "vllm", "none", {}, True),
    ("DeepSeek-R1-Distill-Qwen-7B", "vllm", "on", {}, True),
    ("DeepSeek-R1-Distill-Qwen-7B", "vllm", "off", NO_WAY, False),
    ("DeepSeek-R1-Distill-Qwen-7B", "ollama", "none", {}, False),
    ("DeepSeek-R1-Distill-Qwen-7B", "ollama", "off", PLAIN, False),
    ("QwQ-32B", "vllm", "none", {}, True),
    ("QwQ-32B", "ollama", "off", ALWAYS, False),
    ("granite-3.3-8b-instruct", "llamacpp", "on", argument(thinking=True), False),
    (
        "Llama-3.1-Nemotron-Nano-8B-v1",
        "vllm",
        "on",
        {"system": "detailed thinking on\n\nBe kind."},
        False,
    ),
    (
        "Llama-3.1-Nemotron-Nano-8B-v1",
        "kobold",
        "off",
        {"system": "detailed thinking off\n\nBe kind."},
        False,
    ),
    ("Magistral-Small-2507", "vllm", "on", {}, False),
    ("Magistral-Small-2507", "vllm", "off", ALWAYS, False),
    ("unknown", "ollama", "high", {"think": "high"}, False),
    ("unknown", "vllm", "off", argument(enable_thinking=False), False),
    ("unknown", "generic", "on", {"lost": True}, False),
    ("unknown", "generic", "off", "How this server switches thinking off is not known.", False),
    ("unknown", "openai", "off", {"reasoning_effort": "none"}, False),
    ("unknown", "openai", "low", {"reasoning_effort": "low"}, False),
    ("unknown", "anthropic", "off", {"thinking": {"type": "disabled"}}, False),
)


def planned(known: KnownModels, model: str, level: str) -> Request:
    """Return the request as a chat makes it; the lists of engines say nothing."""
    wish = None if level == "none" else THINKING_LEVELS[level]
    facts = known.of([model]).thinking
    support = on_engine(facts.support if facts else None, thinks=None)
    plan = None if support is None else resolve_thinking(wish, support)
    return replace(ASK, should_think=wish, thinking=plan)


def test_each_backend_is_told_in_its_own_way_and_each_answer_begins_where_it_does() -> None:
    known, wrong = KnownModels(), []
    for model, backend, level, expected, begins_inside in CASES:
        try:
            request = planned(known, model, level)
            found, is_open = sent(request, backend), False
            is_open = tags_for(request, is_divided=backend == "ollama").start_open
        except AIError as error:
            found, is_open = str(error), False
        is_same = found == expected
        if isinstance(found, str) and isinstance(expected, str):
            is_same = found.startswith(expected)
            is_open = False
        if not is_same or is_open is not begins_inside:
            wrong.append((model, backend, level, found, is_open))
    assert wrong == []


BLANK = "<think>\n\n</think>\n\n"
BEGUN = ThinkingSupport(
    modes=frozenset({"deep", "off"}), default="deep", switch=ThinkingSwitch(blank=BLANK)
)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("vllm", {"continue_final_message": True, "add_generation_prompt": False}),
        ("llamacpp", argument(enable_thinking=False)),
        ("embedded", argument(enable_thinking=False)),
        ("kobold", {"continue_assistant_turn": True}),
        ("lmstudio", None),
    ],
)
def test_a_blank_block_begins_the_answer_where_the_engine_continues_it(
    backend: str, expected: Mapping[str, object] | None
) -> None:
    request = replace(ASK, should_think=False, thinking=resolve_thinking(False, BEGUN))
    found = sent(request, backend)
    if expected is None:
        assert str(found).startswith(NO_WAY)
    else:
        assert found == {"begun": BLANK, **expected}
    assert request.conversation == ASK.conversation
    both = replace(BEGUN, modes=frozenset({"deep", "off", "last"}))
    after = replace(resolve_thinking("last", both), instructions="Answer first.")
    assert sent(replace(ASK, should_think="last", thinking=after), backend) == found, (
        "its own thinking is off"
    )


def test_a_default_of_the_user_s_is_sent_or_reported_but_fails_no_prompt() -> None:
    off = replace(BEGUN, default="off", is_declared_by_user=True, is_default_wanted=True)
    by_variable = replace(off, switch=ThinkingSwitch(variable="v"))
    nothing = replace(off, switch=ThinkingSwitch())
    unasked = {
        (name, backend): sent(replace(ASK, thinking=resolve_thinking(None, model)), backend)
        for name, model in (("blank", off), ("variable", by_variable), ("none", nothing))
        for backend in ("vllm", "ollama", "lmstudio")
    }
    lost, told = {"lost": True}, {"think": False}
    continuing = {"continue_final_message": True, "add_generation_prompt": False}
    assert unasked == {
        ("blank", "vllm"): {"begun": BLANK, **continuing},
        ("blank", "ollama"): told,
        ("blank", "lmstudio"): lost,
        ("variable", "vllm"): argument(v=False),
        ("variable", "ollama"): told,
        ("variable", "lmstudio"): lost,
        ("none", "vllm"): lost,
        ("none", "ollama"): told,
        ("none", "lmstudio"): lost,
    }


def test_llamacpp_s_messages_refuse_off_only_if_the_model_thinks_unasked() -> None:
    provider = LlamaCppMessagesProvider(
        ProviderSpec(name="l", kind="anthropic", base_url="http://127.0.0.1:9")
    )
    left_out: list[LeftOut] = []
    calm = replace(BEGUN, default="off", switch=ThinkingSwitch())
    wish = replace(ASK, should_think=False)
    provider._body(replace(wish, thinking=resolve_thinking(False, calm)), left_out.append)
    assert left_out == []
    with pytest.raises(AIError, match=NO_WAY):
        provider._body(replace(wish, thinking=resolve_thinking(False, BEGUN)))
    chosen = resolve_thinking(None, replace(calm, is_declared_by_user=True, is_default_wanted=True))
    provider._body(replace(ASK, thinking=chosen), left_out.append)
    assert [one.field for one in left_out] == ["think"]


def test_ollama_gets_words_for_a_model_that_it_does_not_know_to_think() -> None:
    switch = ThinkingSwitch(on_text="/think", text_in="user")
    support = ThinkingSupport(
        modes=frozenset({"deep", "off"}), switch=switch, is_known_to_engine=False
    )
    assert sent(replace(ASK, thinking=resolve_thinking(True, support)), "ollama") == {
        "words": "hi /think"
    }
    assert sent(replace(ASK, thinking=resolve_thinking(False, support)), "ollama") == {}


def test_words_go_to_the_newest_question_beside_its_pictures() -> None:
    switch = ThinkingSwitch(off_text="/no_think")
    support = ThinkingSupport(modes=frozenset({"deep", "off"}), switch=switch)
    question = Message("user", [TextContent("what?"), ImageContent(data=b"\x89PNG")])
    messages = [question, Message("assistant", "It is.")]
    request = replace(ASK, messages=messages, thinking=resolve_thinking(False, support))
    body: dict[str, Any] = dict(openai_body(request, "generic"))
    *_, newest, _answer = body["messages"]
    assert [part.get("text") for part in newest["content"]] == ["what?", None, " /no_think"]


def test_settings_of_a_provider_leave_the_family_s_own_variable_to_the_wish() -> None:
    support = ThinkingSupport(modes=frozenset({"deep", "off"}), switch=ThinkingSwitch(variable="v"))
    keys: JsonObject = {"chat_template_kwargs": {"v": True, "enable_thinking": True, "style": 1}}
    silent = with_default_keys(replace(ASK, thinking=resolve_thinking(None, support)), keys)
    assert silent.options.extra_body == keys
    wishing = replace(ASK, thinking=resolve_thinking(False, support))
    merged = openai_body(with_default_keys(wishing, keys), "vllm")
    assert merged["chat_template_kwargs"] == {"v": False, "style": 1}
    own = GenerationOptions(extra_body={"chat_template_kwargs": {"v": 7}})
    assert openai_body(replace(wishing, options=own), "vllm")["chat_template_kwargs"] == {"v": 7}


def test_llamacpp_s_messages_are_switched_by_the_family_s_variable() -> None:
    body = anthropic_body(replace(ASK, should_think=False), "s")
    assert as_llamacpp(body, "thinking")["chat_template_kwargs"] == {"thinking": False}
    assert "chat_template_kwargs" not in as_llamacpp(body, None)


def test_without_a_plan_the_wish_alone_counts() -> None:
    assert plan_of(ASK).is_on is None
    for level, is_on, effort in (("off", False, None), ("on", True, None), ("low", True, "low")):
        plan = plan_of(replace(ASK, should_think=THINKING_LEVELS[level]))
        assert (plan.is_on, plan.effort, plan.switch) == (is_on, effort, None)
