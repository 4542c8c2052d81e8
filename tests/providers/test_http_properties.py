"""Numbered properties of talking to a server, over real connections on loopback."""

import json
import string
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, RemembersListError, SupportsList
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.asking import closed_port, connected
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, Server, raw_server, sending, serve
from tests.support.strategies import JSON

OPENAI = ("openai-compatible", "vllm", "llamacpp", "lmstudio", "localai", "kobold")
OWN_KINDS = ("ollama", "openai-compatible", "openai", "anthropic")
KINDS = st.sampled_from([*OWN_KINDS, *OPENAI[1:]])
LIKE_OPENAI = st.sampled_from(OPENAI)
KEYS = st.text(string.ascii_letters + string.digits + "-_.~+/=", min_size=4, max_size=40)
NAMES = st.text(string.ascii_lowercase + "-", min_size=1, max_size=12)


def spec_for(kind: str, url: str | None, **more: object) -> ProviderSpec:
    """Make the settings of a kind; a backend stands for the OpenAI-compatible kind with it."""
    like = kind if kind in OWN_KINDS else "openai-compatible"
    settings = {"name": "p", "backend": None if like == kind else kind} | more
    return ProviderSpec(kind=like, base_url=url, **settings)  # type: ignore[arg-type]


def asking(prompt: str = "hello", signal: AbortSignal | None = None) -> Request:
    return Request(model="tiny", messages=[Message("user", prompt)], signal=signal)


async def answers(spec: ProviderSpec, request: Request | None = None) -> list[ProviderEvent]:
    async with connected(spec) as provider, provider.chat_stream(request or asking()) as stream:
        return [event async for event in stream]


def server_of(kind: str) -> Handler:
    match kind:
        case "ollama":
            return fake_ollama
        case "anthropic":
            return FakeAnthropic()
        case _:
            return FakeOpenAI()


# Feature: stage-02-core-provider, Property 10: Provider Interface Compliance
# Feature: stage-11-vllm-openai, Property 1: Provider Interface Compliance
@settings(max_examples=100)
@given(kind=KINDS, name=NAMES, label=st.none() | NAMES, key=st.none() | KEYS)
async def test_every_adapter_has_a_name_and_streams_events(
    kind: str, name: str, label: str | None, key: str | None
) -> None:
    async with serve(server_of(kind)) as server:
        spec = spec_for(kind, server.url, name=name, label=label, api_key=key)
        async with connected(spec) as provider:
            assert isinstance(provider, ProviderAdapter)
            assert provider.name == name
            assert provider.streaming_format == ("ndjson" if kind == "ollama" else "sse")
            stream = provider.chat_stream(asking())
            assert isinstance(stream, AbstractAsyncContextManager)
            async with stream as events:
                assert isinstance(events, AsyncIterator)
                got = [event async for event in events]
            assert "".join(e.delta for e in got if isinstance(e, TextDelta)) == "Hello, world!"
            assert isinstance(got[-1], Finish)
            whole = await provider.invoke(
                Request(model="tiny", messages=[Message("user", "hello")], stream=False)
            )
            assert isinstance(whole, Response)
            assert whole.text == "Hello, world!"


# Feature: stage-11-vllm-openai, Property 6: OpenAI-Compatible Endpoint Usage
@settings(max_examples=100)
@given(
    kind=LIKE_OPENAI,
    ending=st.sampled_from(["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models"]),
    prefix=st.sampled_from(["", "/proxy", "/a/b"]),
    streams=st.booleans(),
)
async def test_every_chat_goes_to_chat_completions(
    kind: str, ending: str, prefix: str, streams: bool
) -> None:
    async with (
        serve(FakeOpenAI()) as server,
        connected(spec_for(kind, server.url + prefix + ending)) as provider,
    ):
        # The fake knows no prefix and refuses there; where it was asked is what counts.
        with suppress(AIError):
            made = await provider.invoke(
                Request(model="tiny", messages=[Message("user", "hello")], stream=streams)
            )
            if not isinstance(made, Response):
                async with made as events:
                    assert [event async for event in events]
    asked = [(request.method, request.path) for request in server.received]
    assert asked == [("POST", f"{prefix}/v1/chat/completions")]


# Feature: stage-11-vllm-openai, Property 8: Authenticated Request Headers
# Feature: stage-11-vllm-openai, Property 10: Backend-Specific Header Adaptation
@settings(max_examples=100)
@given(kind=KINDS, key=KEYS)
async def test_a_key_is_in_every_request_in_the_form_its_server_wants(kind: str, key: str) -> None:
    async with (
        serve(server_of(kind)) as server,
        connected(spec_for(kind, server.url, api_key=key)) as provider,
    ):
        async with provider.chat_stream(asking()) as events:
            assert isinstance([event async for event in events][-1], Finish)
        assert isinstance(provider, SupportsList)
        await provider.list_models()
    assert len(server.received) >= 2
    for request in server.received:
        bearer = None if kind == "anthropic" else f"Bearer {key}"
        assert request.headers.get("authorization") == bearer
        alone = key if kind in ("lmstudio", "anthropic") else None
        assert request.headers.get("x-api-key") == alone


REPLIES = st.one_of(
    st.tuples(st.sampled_from([400, 401, 403, 404, 418, 429, 500, 503]), JSON.map(json.dumps)),
    st.tuples(st.just(200), st.text()),
    st.tuples(st.just(200), JSON.map(json.dumps)),
    st.none(),
)


# Feature: stage-11-vllm-openai, Property 9: Model Listing Error Handling
@settings(max_examples=100)
@given(kind=LIKE_OPENAI, answer=REPLIES)
async def test_a_list_that_cannot_be_had_is_empty(
    kind: str, answer: tuple[int, str] | None
) -> None:
    async def handler(request: Received, reply: Reply) -> None:
        if answer is None:
            reply.cut()
        else:
            await reply.whole(answer[1].encode("utf-8", "replace"), answer[0])

    async with serve(handler) as server, connected(spec_for(kind, server.url)) as provider:
        assert isinstance(provider, SupportsList)
        assert isinstance(provider, RemembersListError)
        models = await provider.list_models()
    if answer is None or answer[0] != 200:
        assert models == []
        assert provider.last_error is not None
        assert provider.last_error.message


UNREACHABLE = st.one_of(
    st.just(None),
    st.binary(max_size=60).map(lambda data: b"?" + data),
    st.sampled_from(
        [
            b"",
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\ncontent-le",
            b"SSH-2.0-x\r\n\r\n",
            b"\x15\x03\x01",
        ]
    ),
)


# Feature: stage-02-core-provider, Property 16: Connection Error Handling
# Feature: stage-11-vllm-openai, Property 18: Network Error Messages
@settings(max_examples=100)
@given(kind=KINDS, answer=UNREACHABLE, label=NAMES, secure=st.booleans())
async def test_a_server_that_cannot_be_reached_is_one_error_that_names_it(
    kind: str, answer: bytes | None, label: str, secure: bool
) -> None:
    scheme = "https" if secure else "http"
    if answer is None:
        port = closed_port()
        events = await answers(spec_for(kind, f"{scheme}://127.0.0.1:{port}", label=label))
    else:
        async with raw_server(sending(answer)) as port:
            events = await answers(spec_for(kind, f"{scheme}://127.0.0.1:{port}", label=label))
    (only,) = events
    assert isinstance(only, ErrorEvent)
    error = only.error
    assert error.provider == "p"
    assert error.message.endswith(".")
    assert label in error.message or f"localhost:{port}" in error.message
    assert error.hint
    assert error.known_code in (ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.ENGINE_ERROR)


# Feature: stage-11-vllm-openai, Property 19: Authentication Error Messages
@settings(max_examples=100)
@given(kind=KINDS, status=st.sampled_from([401, 403]), key=st.none() | KEYS, body=JSON)
async def test_a_refused_key_is_reported_as_one(
    kind: str, status: int, key: str | None, body: object
) -> None:
    async def refuses(request: Received, reply: Reply) -> None:
        await reply.json({"error": body} if isinstance(body, str) else body, status)

    async with serve(refuses) as server:
        (only,) = await answers(spec_for(kind, server.url, api_key=key))
    assert isinstance(only, ErrorEvent)
    assert only.error.status == status
    assert only.error.code in (ErrorCode.AUTH_FAILED, ErrorCode.PERMISSION_DENIED)
    sentence = "rejected the API key" if key else "requires an API key"
    assert (f" {sentence}: " in only.error.message) is (status == 401)
    own = "Check the API key of provider p." if key else "Set api_key_env below [providers.p]."
    assert only.error.hint == (own if status == 401 else "Check the API key of this provider.")
    assert not only.error.retryable
    assert len(server.received) == 1


WAYS = st.sampled_from(["signal", "leave", "cancel", "raise"])


# Feature: stage-02-core-provider, Property 34: Abort Signal Cleanup
@settings(max_examples=100)
@given(kind=KINDS, way=WAYS, after=st.integers(0, 4), twice=st.booleans())
async def test_a_stopped_answer_leaves_no_connection_and_no_task(
    kind: str, way: str, after: int, twice: bool
) -> None:
    before = anyio.get_running_tasks()
    async with serve(server_of(kind)) as server, connected(spec_for(kind, server.url)) as provider:
        seen = await _stopped(provider, server, way, after, times=1 + twice)
        ends = [event for event in seen if isinstance(event, Finish | ErrorEvent)]
        assert ends == ([Finish("abort")] if way == "signal" else []) or _aborted(ends)
        assert (way == "signal") == bool(ends)
        await _left_alone(server)
        async with provider.chat_stream(asking()) as events:
            assert isinstance([event async for event in events][-1], Finish)
    with anyio.fail_after(5):
        while len(anyio.get_running_tasks()) > len(before):
            await anyio.sleep(0)


async def _left_alone(server: Server) -> None:
    with anyio.fail_after(5):
        while server.answering:
            await anyio.sleep(0)


def _aborted(ends: Sequence[Finish | ErrorEvent]) -> bool:
    return [end.reason for end in ends if isinstance(end, Finish)] == ["abort"] and len(ends) == 1


async def _stopped(
    provider: ProviderAdapter, server: Server, way: str, after: int, *, times: int
) -> list[ProviderEvent]:
    """Read an endless answer as far as `after` events, and stop it in one of the ways."""
    signal, seen = AbortSignal(), list[ProviderEvent]()

    async def read(scope: anyio.CancelScope) -> None:
        async with provider.chat_stream(asking("forever 10000", signal)) as events:
            while True:
                if len(seen) >= after:
                    _stop(way, signal, scope, times)
                    if way == "leave":
                        return
                    if way == "signal":
                        await _left_alone(server)  # before anybody has left the block
                        seen.extend([event async for event in events])
                        return
                seen.append(await anext(events))

    with anyio.CancelScope() as scope:
        with pytest.raises(LookupError) if way == "raise" else nullcontext():
            await read(scope)
    return seen


def _stop(way: str, signal: AbortSignal, scope: anyio.CancelScope, times: int) -> None:
    for _ in range(times):
        match way:
            case "signal":
                signal.abort()
            case "cancel":
                scope.cancel()
            case "raise":
                raise LookupError("mine")
            case _:
                pass
