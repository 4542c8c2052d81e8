"""A check of how a model calls tools gives each model the verdict it was built for."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.tool_check import TASKS, Attempt, CheckWish, check_tools, problem_of
from ollm_tui.models.tool_check import ToolCheck, ToolWay, WayScore, tool_check_from
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.engine import embedded, needs_engine
from tests.support.providers import ScriptedProvider
from tests.support.tiny_gguf import TEMPLATE, write_scripted

ANSWER = "The reports are 4821 and 9034, the train is 2640, and the order 7359."
PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
OSLO = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
TRAIN = '{"name": "find_train", "arguments": {"start": "Vienna", "destination": "Graz"}}'
GIFT = '{"name": "reserve", "arguments": {"item": "chairs", "count": 12, "is_gift": true}}'
NATIVE = {
    "<|do:paris|>": f"<tool_call>\n{PARIS}\n</tool_call>",
    "<|do:both|>": f"<tool_call>\n{PARIS}\n</tool_call>\n<tool_call>\n{OSLO}\n</tool_call>",
    "<|do:train|>": f"<tool_call>\n{TRAIN}\n</tool_call>",
    "<|do:gift|>": f"<tool_call>\n{GIFT}\n</tool_call>",
    "<|do:answer|>": ANSWER,
}


def as_text(*calls: str) -> str:
    name, arguments = re.fullmatch(r'\{"name": "(\w+)", "arguments": (.*)\}', calls[0]).groups()  # type: ignore[union-attr]
    return f"Thought: I need it.\nAction: {name}\nAction Input: {arguments}\n"


AS_TEXT = {
    "<|do:paris|>": as_text(PARIS),
    "<|do:oslo|>": as_text(OSLO),
    "<|do:train|>": as_text(TRAIN),
    "<|do:gift|>": as_text(GIFT),
    "<|do:answer|>": f"Thought: I know it.\nFinal Answer: {ANSWER}",
    "<|do:hello|>": "Thought: No tool.\nFinal Answer: hello",
}
NATIVE_CHOICE = """
    {%- if messages[-1].role == 'tool' %}{{- '<|do:answer|>' }}
    {%- elif tools and 'Oslo' in last %}{{- '<|do:both|>' }}
    {%- elif tools and 'Paris' in last %}{{- '<|do:paris|>' }}
    {%- elif tools and 'train' in last %}{{- '<|do:train|>' }}
    {%- elif tools and 'chairs' in last %}{{- '<|do:gift|>' }}
    {%- else %}{{- '<|say:hello|>' }}
    {%- endif %}
"""
TEXT_TEMPLATE = """
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{{- '<|im_end|>\\n' }}{%- endfor %}
{%- set first = messages[0].content %}{%- set last = messages[-1].content %}
{{- '<|im_start|>assistant\\n' }}
{%- if 'Action Input' not in first %}{{- '<|say:hello|>' }}
{%- elif '9034' in last %}{{- '<|do:answer|>' }}
{%- elif '4821' in last and 'Oslo' in messages | map(attribute='content') | join %}
{{- '<|do:oslo|>' }}
{%- elif 'Observation' in last %}{{- '<|do:answer|>' }}
{%- elif 'Paris' in last %}{{- '<|do:paris|>' }}
{%- elif 'train' in last %}{{- '<|do:train|>' }}
{%- elif 'chairs' in last %}{{- '<|do:gift|>' }}
{%- else %}{{- '<|do:hello|>' }}
{%- endif %}
"""


def native_template() -> str:
    """The usual template, which picks other replies."""
    head, _ = TEMPLATE.split("    {%- if messages[-1].role == 'tool' %}")
    return head + NATIVE_CHOICE + "{%- endif %}\n"


MODELS: Mapping[str, tuple[str, Mapping[str, str], ToolWay | None]] = {
    "native": (native_template(), NATIVE, "native"),
    "as-text": (TEXT_TEMPLATE, AS_TEXT, "react"),
    "neither": (TEXT_TEMPLATE.replace("'Action Input'", "'no such words'"), AS_TEXT, None),
}


async def ignore(_attempt: Attempt) -> None: ...


def parts_over(provider: ScriptedProvider) -> ChatParts:
    registry = ProviderRegistry()
    registry.register(provider)
    return ChatParts(router=Router(registry, ModelCatalog(registry)))


@pytest.mark.engine
@needs_engine
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", MODELS)
async def test_each_model_gets_the_verdict_it_was_built_for(
    model: str, times: int, tmp_path: Path
) -> None:
    template, replies, verdict = MODELS[model]
    write_scripted(tmp_path / f"{model}.gguf", template, after=replies)
    problems: list[str | None] = []

    async def note(attempt: Attempt) -> None:
        if attempt.way == verdict:
            problems.append(attempt.problem)

    async with embedded(tmp_path) as (provider, _supervisor):
        registry = ProviderRegistry()
        registry.register(provider)
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
        for _time in range(times):
            wish = CheckWish(report=note, runs=1)
            check = await check_tools(f"embedded://{model}", parts, wish)
            assert check.way == verdict, check
    assert set(problems) <= {None}


def a_call(name: str, args: JsonObject | None) -> ToolCall:
    return ToolCall(id="c", name=name, args=args)


BOTH = [a_call("get_weather", {"city": "Paris, France"}), a_call("get_weather", {"city": "OSLO"})]


@pytest.mark.parametrize(
    ("task", "calls", "answer", "problem"),
    [
        ("two calls", BOTH, "4821, 9034", None),
        ("two calls", BOTH, "4821", "did not mention 9034"),
        ("two calls", BOTH[:1], "4821", "did not call get_weather with the right arguments"),
        ("one call", [], "It is warm.", "called no tool"),
        ("one call", [*BOTH, BOTH[0]], "4821", "made 3 calls where 1 would do"),
        (
            "values",
            [a_call("reserve", {"item": "chairs", "count": 12, "is_gift": 1})],
            "7359",
            "did not call reserve with the right arguments",
        ),
        ("choice", [a_call("find_train", None)], "2640", "did not call find_train with the right"),
        ("no call", [], "Hello!", None),
        ("no call", BOTH[:1], "Hello!", "called get_weather although no tool was needed"),
    ],
)
def test_what_a_task_asks_for(
    task: str, calls: list[ToolCall], answer: str, problem: str | None
) -> None:
    [wanted] = [one for one in TASKS if one.name == task]
    told = problem_of(wanted, calls, answer)
    assert told == problem or (problem is not None and told is not None and problem in told)


async def test_a_server_that_takes_no_tools_is_asked_once_and_then_in_the_other_way() -> None:
    refusal = AIError(ErrorCode.UNSUPPORTED_FEATURE, "m does not support tools")
    provider = ScriptedProvider(script=[ErrorEvent(refusal)], streaming_format="sse")
    wish = CheckWish(report=ignore, ways=("native",), runs=2)
    check = await check_tools("scripted://m", parts_over(provider), wish)
    assert check.scores == {"native": WayScore(0, 2 * len(TASKS), is_refused=True)}
    assert check.way is None
    assert len(provider.requests) == 1


async def test_a_model_that_cannot_be_asked_gets_no_verdict() -> None:
    wrong = AIError(ErrorCode.AUTH_FAILED, "no key")
    parts = parts_over(ScriptedProvider(script=[ErrorEvent(wrong)]))
    with pytest.raises(AIError, match="no key"):
        await check_tools("scripted://m", parts, CheckWish(report=ignore))


async def test_a_stopped_check_gives_no_verdict() -> None:
    signal = AbortSignal()

    async def stop(_attempt: Attempt) -> None:
        signal.abort()

    parts = parts_over(ScriptedProvider())
    with pytest.raises(AIError) as caught:
        await check_tools("scripted://m", parts, CheckWish(report=stop, signal=signal))
    assert caught.value.known_code is ErrorCode.ABORTED


def test_the_better_way_counts_and_native_calls_where_both_are_as_good() -> None:
    def verdict(native: int, text: int) -> ToolWay | None:
        scores: dict[ToolWay, WayScore] = {
            "native": WayScore(native, 15),
            "react": WayScore(text, 15),
        }
        check = ToolCheck(scores=scores, checked_at="2026-01-02T03:04:05+00:00")
        assert tool_check_from(check.to_json()) == check
        return check.way

    assert [verdict(9, 9), verdict(9, 10), verdict(15, 3), verdict(7, 7), verdict(0, 8)] == [
        "native",
        "react",
        "native",
        None,
        "react",
    ]


@pytest.mark.parametrize("kept", [None, 3, {}, {"scores": {"native": {"passed": 9}}}])
def test_anything_else_is_no_check(kept: object) -> None:
    assert tool_check_from(kept) is None  # type: ignore[arg-type]
