"""vLLM as it behaves: options by the names of its version, counts, LoRAs, windows, reasoning."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import RemembersListError
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    LeftOut,
    ProviderEvent,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import (
    RESERVED_BODY_KEYS,
    GenerationOptions,
    Request,
    ThinkingPlan,
)
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolName, ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.body.unsupported import REFUSED_KEYS
from ollm_tui.providers.openai_compatible import VllmProvider
from ollm_tui.providers.openai_compatible.vllm import knows_structured_outputs
from ollm_tui.providers.openai_compatible.vllm_options import StructuredOutputs, VllmOptions
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.answers import text_of, thinking_of
from tests.support.fake_vllm import FakeVllm, count_of
from tests.support.http_server import Handler, Received, Reply, Server, in_thread, serve

ASK = Request(model="tiny", messages=[Message("user", "hello")])
WEATHER = ToolSchema(name="weather", parameters={"type": "object"})
CHAT = "/v1/chat/completions"


def with_extra(**extra: object) -> Request:
    return replace(ASK, options=GenerationOptions(extra_body=extra))  # type: ignore[arg-type]


def provider_at(url: str, key: str | None = None) -> VllmProvider:
    provider = create_provider(
        ProviderSpec(
            name="vllm", kind="openai-compatible", backend="vllm", base_url=url, api_key=key
        )
    )
    assert isinstance(provider, VllmProvider)
    return provider


@asynccontextmanager
async def connected(
    how: FakeVllm | None = None, handler: Handler | None = None
) -> AsyncIterator[tuple[VllmProvider, Server]]:
    async with serve(handler or how or FakeVllm()) as server:
        provider = provider_at(server.url, how.key if how else None)
        try:
            yield provider, server
        finally:
            await provider.dispose()


async def answer(provider: VllmProvider, request: Request = ASK) -> list[ProviderEvent]:
    async with provider.chat_stream(request) as stream:
        return [event async for event in stream]


def bodies(server: Server) -> list[dict[str, Any]]:
    return [request.json() for request in server.received if request.path == CHAT]


@pytest.mark.parametrize("version", ["0.6.3", "0.10.2", "0.11.0", "0.12.0", "0.13.1rc1", None])
@pytest.mark.parametrize(
    "extra",
    [{"guided_choice": ["yes", "no"]}, {"structured_outputs": {"choice": ["yes", "no"]}}],
)
async def test_a_constraint_works_by_either_name_on_every_version(
    version: str | None, extra: dict[str, Any]
) -> None:
    async with connected(FakeVllm(version=version)) as (provider, server):
        for _ in range(2):
            assert text_of(await answer(provider, with_extra(**extra))) == "yes"
    paths = [request.path for request in server.received]
    assert paths == ["/version", CHAT, CHAT], "the version is asked once, and for an answer"


async def test_the_version_is_not_asked_where_nothing_depends_on_it() -> None:
    async with connected() as (provider, server):
        await answer(provider)
        await answer(provider, with_extra(min_tokens=3, my_own={"a": [1]}))
    assert [request.path for request in server.received] == [CHAT, CHAT]
    assert bodies(server)[1]["min_tokens"] == 3
    assert bodies(server)[1]["my_own"] == {"a": [1]}


async def test_a_server_that_cannot_be_reached_for_its_version_is_asked_again() -> None:
    provider = provider_at("http://127.0.0.1:1")
    (end,) = await answer(provider, with_extra(guided_regex="a+"))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.SERVICE_UNAVAILABLE
    assert not provider._knows_version
    await provider.dispose()


async def test_a_stop_while_the_version_is_awaited_stops_at_once() -> None:
    asked = anyio.Event()

    async def silent(request: Received, reply: Reply) -> None:
        asked.set()
        await anyio.sleep_forever()

    signal = AbortSignal()
    async with connected(handler=silent) as (provider, server):
        events: list[ProviderEvent] = []

        async def ask() -> None:
            wish = replace(with_extra(guided_regex="a+"), signal=signal)
            events.extend(await answer(provider, wish))

        with anyio.fail_after(1):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await asked.wait()
                signal.abort()
        await server.settled()
    assert [type(event) for event in events] == [Finish]
    assert [request.path for request in server.received] == ["/version"], "nothing was sent after"


@pytest.mark.parametrize(
    ("version", "extra", "sent", "lost"),
    [
        ("0.13.0", {"best_of": 2, "use_beam_search": True}, {"use_beam_search": True}, ["best_of"]),
        ("0.13.0", {"guided_decoding_backend": "outlines"}, {}, ["guided_decoding_backend"]),
        (
            "0.10.0",
            {"guided_decoding_backend": "outlines"},
            {"guided_decoding_backend": "outlines"},
            [],
        ),
        (
            "0.10.0",
            {"structured_outputs": {"regex": "a+", "disable_any_whitespace": True}},
            {"guided_regex": "a+"},
            ["structured_outputs.disable_any_whitespace"],
        ),
        (
            "0.10.0",
            {"structured_outputs": {"json_object": True}},
            {"response_format": {"type": "json_object"}},
            [],
        ),
    ],
)
async def test_what_a_version_has_no_name_for_is_left_out_and_reported(
    version: str, extra: dict[str, Any], sent: dict[str, Any], lost: list[str]
) -> None:
    async with connected(FakeVllm(version=version)) as (provider, server):
        first = await answer(provider, with_extra(**extra))
        second = await answer(provider, with_extra(**extra))
    for events in (first, second):
        assert [event.field for event in events if isinstance(event, LeftOut)] == lost
        assert isinstance(events[-1], Finish)
    for body in bodies(server):
        own = {"model", "messages", "stream", "stream_options"}
        assert {key: value for key, value in body.items() if key not in own} == sent


WRONG: Mapping[str, tuple[dict[str, Any], str]] = {
    "guided_choice": ({"guided_choice": "yes"}, "a list of texts"),
    "guided_json": ({"guided_json": 3}, "a JSON schema, as an object or as text"),
    "min_tokens": ({"min_tokens": "3"}, "a whole number of at least 0"),
    "presence_penalty": ({"presence_penalty": True}, "a number from -2 to 2"),
    "repetition_penalty": ({"repetition_penalty": 0}, "a number above 0"),
    "use_beam_search": ({"use_beam_search": "yes"}, "true or false"),
    "top_k": ({"top_k": 1.5}, "a whole number, -1 or 0 for all tokens"),
    "min_p": ({"min_p": 2}, "a number from 0 to 1"),
    "chat_template_kwargs": ({"chat_template_kwargs": []}, "an object of keys and values"),
    "structured_outputs": ({"structured_outputs": []}, "an object such as {choice: [...]}"),
    "structured_outputs.choice": ({"structured_outputs": {"choice": [1]}}, "a list of texts"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_value_of_the_wrong_type_is_one_sentence_and_no_request(name: str) -> None:
    extra, kind = WRONG[name]
    async with connected() as (provider, server):
        (end,) = await answer(provider, with_extra(**extra))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.BAD_REQUEST
    assert end.error.message == f"The vLLM option `{name}` must be {kind}."
    assert server.received == []


def test_options_can_be_written_in_python() -> None:
    made = VllmOptions(
        structured_outputs=StructuredOutputs(json_schema={"type": "object"}), min_tokens=3
    )
    assert made.extra_body() == {
        "structured_outputs": {"json": {"type": "object"}},
        "min_tokens": 3,
    }


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("0.12.0", True),
        ("0.11.2", False),
        ("0.9.0.1", False),
        ("v0.8.5", False),
        ("1.0.0", True),
        ("0.11.1rc2.dev12+gabcdef", False),
        ("0.1.dev9+g0123abc", True),
        ("dev", True),
        ("", True),
        (None, True),
    ],
)
def test_a_version_that_says_nothing_is_taken_for_a_new_one(
    version: str | None, newer: bool
) -> None:
    assert knows_structured_outputs(version) is newer


KEYS = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OWN = st.dictionaries(
    KEYS.filter(
        lambda key: key not in {*VllmOptions.model_fields, *RESERVED_BODY_KEYS, *REFUSED_KEYS}
    ),
    VALUES,
    max_size=5,
)


# Feature: stage-11-vllm-openai, Property 7: Provider-Specific Options Passthrough
@settings(max_examples=100)
@given(extra=OWN, structured=st.booleans())
def test_keys_that_are_not_known_pass_as_they_are(extra: dict[str, Any], structured: bool) -> None:
    assert VllmOptions.validated(extra).for_server(structured=structured) == (extra, ())


CONSTRAINTS = st.fixed_dictionaries(
    {},
    optional={
        "json": st.just({"type": "object"}) | st.just("{}"),
        "regex": st.text(min_size=1, max_size=5),
        "choice": st.lists(st.text(max_size=3), min_size=1, max_size=3),
        "grammar": st.text(min_size=1, max_size=5),
        "whitespace_pattern": st.text(min_size=1, max_size=5),
    },
).filter(bool)


# Feature: stage-11-vllm-openai, Property 7: Provider-Specific Options Passthrough
@settings(max_examples=100)
@given(constraints=CONSTRAINTS)
def test_either_way_of_writing_constraints_becomes_the_one_the_server_knows(
    constraints: dict[str, Any],
) -> None:
    old = {f"guided_{name}": value for name, value in constraints.items()}
    new = {"structured_outputs": constraints}
    for written in (old, new):
        options = VllmOptions.validated(written)
        assert options.for_server(structured=True) == (new, ())
        assert options.for_server(structured=False) == (old, ())


# Feature: stage-11-vllm-openai, Property 6: OpenAI-Compatible Endpoint Usage
@settings(max_examples=100)
@given(path=st.sampled_from(["", "/", "/v1", "/v1/", "/team", "/team/v1"]), extra=OWN)
def test_every_question_goes_to_the_chat_completions(path: str, extra: dict[str, Any]) -> None:
    async def ask(url: str) -> None:
        provider = provider_at(url)
        await answer(provider, with_extra(**extra))
        await provider.dispose()

    async def handler(request: Received, reply: Reply) -> None:
        await reply.whole(b"data: [DONE]\n\n", content_type="text/event-stream")

    with in_thread(handler) as server:
        anyio.run(ask, f"{server.url}{path}")
    root = "/team" if "team" in path else ""
    assert [(r.method, r.path) for r in server.received] == [("POST", f"{root}{CHAT}")]


async def test_a_server_that_sent_thinking_apart_is_trusted_to_do_so() -> None:
    opened = ThinkingPlan(mode="deep", starts_open=True)
    seen = []
    async with connected() as (provider, _):
        for prompt in ("hello", "think", "hello"):
            asked = replace(ASK, messages=[Message("user", prompt)], thinking=opened)
            events = await answer(provider, asked)
            seen.append((thinking_of(events), text_of(events)))
    hello = seen[0][1]
    assert seen == [(hello, hello), ("Let me see.", "Yes."), ("", hello)]


@pytest.mark.parametrize("version", ["0.10.0", "0.11.0", "0.13.0"])
async def test_reasoning_counts_once_whatever_its_name(version: str) -> None:
    async with connected(FakeVllm(version=version)) as (provider, _):
        events = await answer(provider, replace(ASK, messages=[Message("user", "think")]))
    thought = "".join(event.delta for event in events if isinstance(event, ThinkingDelta))
    assert (thought, text_of(events)) == ("Let me see.", "Yes.")


async def test_thinking_is_switched_beside_what_the_template_is_given() -> None:
    async with connected() as (provider, server):
        wish = with_extra(chat_template_kwargs={"style": "short"})
        await answer(provider, replace(wish, should_think=False))
        own = with_extra(chat_template_kwargs={"enable_thinking": True})
        await answer(provider, replace(own, should_think=False))
    template_options = [body["chat_template_kwargs"] for body in bodies(server)]
    assert template_options == [
        {"enable_thinking": False, "style": "short"},
        {"enable_thinking": True},
    ]


async def test_a_named_tool_is_a_call_although_the_reason_is_stop() -> None:
    wish = replace(ASK, tools=[WEATHER], tool_choice=ToolName("weather"))
    async with connected(FakeVllm(tool_parser=False)) as (provider, server):
        events = await answer(provider, wish)
    calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
    assert [(call.name, call.args) for call in calls] == [("weather", {"city": "Oslo"})]
    end = events[-1]
    assert isinstance(end, Finish)
    assert (end.reason, end.raw_reason) == ("tool_calls", "stop")
    chosen = {"type": "function", "function": {"name": "weather"}}
    assert bodies(server)[0]["tool_choice"] == chosen


async def test_a_required_tool_is_asked_for_in_one_word() -> None:
    wish = replace(ASK, tools=[WEATHER], tool_choice="required")
    async with connected() as (provider, server):
        await answer(provider, wish)
    assert bodies(server)[0]["tool_choice"] == "required"


async def test_a_missing_tool_parser_is_a_feature_that_is_not_there() -> None:
    async with connected(FakeVllm(tool_parser=False)) as (provider, _):
        (end,) = await answer(provider, replace(ASK, tools=[WEATHER]))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_the_template_counts_with_tools_and_what_it_is_given_and_without_a_key() -> None:
    own = {"chat_template": "{{ messages }}", "chat_template_kwargs": {"style": "short"}}
    wish = replace(with_extra(**own, min_tokens=2), tools=[WEATHER])
    async with connected(FakeVllm(key="secret-key")) as (provider, server):
        counted = await provider.count_tokens(wish)
    (asked,) = server.received
    body = asked.json()
    assert asked.path == "/tokenize"
    assert body.keys() == {
        "model",
        "messages",
        "tools",
        "chat_template",
        "chat_template_kwargs",
        "add_generation_prompt",
    }
    assert counted == count_of(body)


async def test_a_server_that_does_not_count_is_asked_once() -> None:
    async with connected(FakeVllm(tokenizes=False)) as (provider, server):
        for _ in range(2):
            with pytest.raises(AIError):
                await provider.count_tokens(ASK)
    assert [request.path for request in server.received] == ["/tokenize"]


async def test_loras_are_models_with_the_window_of_their_parent() -> None:
    async with connected(FakeVllm(window=2048)) as (provider, _):
        base, lora = await provider.list_models()
        assert text_of(await answer(provider, replace(ASK, model="tiny-sql"))) == "Hello, world!"
    assert (base.name, base.context, base.details.get("parent")) == ("tiny", 2048, None)
    assert (lora.name, lora.context, lora.details.get("parent")) == ("tiny-sql", 2048, "tiny")


async def test_a_full_window_is_reported_with_both_numbers() -> None:
    async with connected(FakeVllm(window=4)) as (provider, _):
        (end,) = await answer(provider, replace(ASK, messages=[Message("user", "a b c d e f")]))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert end.error.details["context_tokens"] == 4
    assert end.error.details["prompt_tokens"] == 9


async def test_a_server_that_is_starting_is_reported_and_may_be_asked_again() -> None:
    async with connected(FakeVllm(starting=2)) as (provider, _):
        (end,) = await answer(provider)
        assert isinstance(end, ErrorEvent)
        assert end.error.code == ErrorCode.SERVICE_UNAVAILABLE
        assert end.error.retryable
        assert await provider.list_models() == []
        assert isinstance(provider, RemembersListError)
        assert provider.last_error is not None
        assert text_of(await answer(provider)) == "Hello, world!"


async def test_a_key_is_asked_for_below_v1() -> None:
    async with serve(FakeVllm(key="secret-key")) as server:
        stranger = provider_at(server.url, "wrong-key")
        (end,) = await answer(stranger)
        await stranger.dispose()
        known = provider_at(server.url, "secret-key")
        assert text_of(await answer(known)) == "Hello, world!"
        await known.dispose()
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.AUTH_FAILED
    assert "wrong-key" not in json.dumps(str(end.error))


async def test_the_official_client_takes_the_fake_for_a_vllm() -> None:
    import openai

    async with (
        serve(FakeVllm(key="secret-key", tool_parser=False)) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="secret-key") as client,
    ):
        models = [model async for model in client.models.list()]
        constrained = await client.chat.completions.create(
            model="tiny",
            messages=[{"role": "user", "content": "hello"}],
            extra_body={"structured_outputs": {"choice": ["yes", "no"]}, "unknown": 1},
        )
        ignored = await client.chat.completions.create(
            model="tiny",
            messages=[{"role": "user", "content": "hello"}],
            extra_body={"guided_choice": ["yes", "no"]},
        )
        with pytest.raises(openai.BadRequestError, match="--tool-call-parser"):
            await client.chat.completions.create(
                model="tiny",
                messages=[{"role": "user", "content": "hello"}],
                tools=[{"type": "function", "function": {"name": "weather"}}],
            )
        async with client.chat.completions.stream(
            model="tiny", messages=[{"role": "user", "content": "think"}]
        ) as stream:
            thought = await stream.get_final_completion()
    assert [model.id for model in models] == ["tiny", "tiny-sql"]
    assert constrained.choices[0].message.content == "yes"
    assert ignored.choices[0].message.content == "Hello, world!"
    assert thought.choices[0].message.content == "Yes."
