"""Keys from a provider's settings are in every request that does not speak for itself."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.request import RESERVED_BODY_KEYS, GenerationOptions, Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.body.unsupported import REFUSED_KEYS
from ollm_tui.providers.http_provider import with_default_keys
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_vllm import FakeVllm
from tests.support.http_server import Handler, serve


def ask(should_think: bool | None = None, **options: object) -> Request:
    return Request(
        model="tiny",
        messages=[Message("user", "hello")],
        options=GenerationOptions(**options),  # type: ignore[arg-type]
        should_think=should_think,
    )


@pytest.mark.parametrize(
    ("request_", "keys", "extra"),
    [
        (ask(), {"min_tokens": 1}, {"min_tokens": 1}),
        (ask(extra_body={"min_tokens": 2}), {"min_tokens": 1, "x": 0}, {"min_tokens": 2, "x": 0}),
        (ask(temperature=0.5), {"temperature": 1, "x": 0}, {"x": 0}),
        (ask(repeat_penalty=1.1), {"repetition_penalty": 1.2, "x": 0}, {"x": 0}),
        (ask(max_tokens=5), {"max_completion_tokens": 9, "x": 0}, {"x": 0}),
        (ask(True), {"reasoning_effort": "high", "x": 0}, {"x": 0}),
        (ask(), {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        (
            ask(False),
            {"chat_template_kwargs": {"enable_thinking": True, "style": "a"}},
            {"chat_template_kwargs": {"style": "a"}},
        ),
        (
            ask(extra_body={"chat_template_kwargs": {"style": "b"}}),
            {"chat_template_kwargs": {"style": "a", "tone": "c"}},
            {"chat_template_kwargs": {"style": "b", "tone": "c"}},
        ),
        (
            ask(False, extra_body={"chat_template_kwargs": {"enable_thinking": True}}),
            {"chat_template_kwargs": {"style": "a"}},
            {"chat_template_kwargs": {"enable_thinking": True, "style": "a"}},
        ),
    ],
)
def test_what_the_request_says_itself_counts_more(
    request_: Request, keys: dict[str, Any], extra: dict[str, Any]
) -> None:
    assert with_default_keys(request_, keys).options.extra_body == extra


TABLES = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(
        lambda key: key not in RESERVED_BODY_KEYS | REFUSED_KEYS
    ),
    st.none() | st.integers() | st.text(max_size=3),
    max_size=5,
)


# Feature: stage-11-vllm-openai, Property 7: Provider-Specific Options Passthrough
@settings(max_examples=100)
@given(keys=TABLES, own=TABLES)
def test_no_key_is_lost_and_none_is_changed(keys: dict[str, Any], own: dict[str, Any]) -> None:
    made = with_default_keys(ask(extra_body=own), keys).options.extra_body
    assert made == {**keys, **own}


@pytest.mark.parametrize(
    ("kind", "backend", "handler"),
    [
        ("openai-compatible", None, FakeOpenAI()),
        ("openai-compatible", "vllm", FakeVllm()),
        ("openai", None, FakeOpenAI()),
        ("anthropic", None, FakeAnthropic()),
    ],
)
async def test_every_kind_that_takes_them_sends_them(
    kind: str, backend: str | None, handler: Handler
) -> None:
    async with serve(handler) as server:
        spec = ProviderSpec(
            name="p", kind=kind, backend=backend, base_url=server.url, extra_body={"mood": "good"}
        )
        provider = create_provider(spec)
        async with provider.chat_stream(ask()) as stream:
            assert [event async for event in stream]
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    (asked,) = server.received
    assert asked.json()["mood"] == "good"
