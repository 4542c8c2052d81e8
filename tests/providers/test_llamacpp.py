"""llama.cpp's server: what it tells while it loads, and a router's many models."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.openai_compatible import LlamaCppProvider, LlamaCppRouterProvider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_backends import LOADING, FakeLlamaCpp, refusal
from tests.support.http_server import Handler, Received, Reply, Server, serve

HELLO = Request(model="tiny", messages=[Message("user", "hello")])


def spec_for(url: str, backend: str = "llamacpp", **more: object) -> ProviderSpec:
    return ProviderSpec(
        name="box",
        kind="openai-compatible",
        label="llama.cpp",
        base_url=url,
        backend=backend,
        **more,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def connected(
    handler: Handler, **more: object
) -> AsyncIterator[tuple[LlamaCppProvider, Server]]:
    async with serve(handler) as server:
        provider = LlamaCppProvider(spec_for(server.url, **more))  # type: ignore[arg-type]
        yield provider, server
        await provider.dispose()


@asynccontextmanager
async def routing(fake: FakeLlamaCpp) -> AsyncIterator[tuple[LlamaCppRouterProvider, Server]]:
    async with serve(fake) as server:
        provider = LlamaCppRouterProvider(spec_for(server.url, "llamacpp-router"))
        yield provider, server
        await provider.dispose()


async def test_its_one_model_comes_with_window_senses_and_abilities() -> None:
    async with connected(FakeLlamaCpp()) as (provider, _):
        (info,) = await provider.list_models()
    assert (info.name, info.context, info.loaded) == ("tiny", 4096, True)
    assert info.details["slots"] == 2
    assert info.capability is not None
    assert info.capability.input == {"text", "image"}
    assert info.capability.features >= {"tool_use", "thinking", "json_mode"}


async def test_while_it_loads_the_model_is_listed_as_not_loaded() -> None:
    async with connected(FakeLlamaCpp(busy=1)) as (provider, _):
        (info,) = await provider.list_models()
        assert (info.name, info.context, info.loaded) == ("tiny", None, False)
        (info,) = await provider.list_models()
        assert (info.context, info.loaded) == (4096, True)


async def test_a_load_that_takes_too_long_ends_in_a_clear_error() -> None:
    async with (
        connected(FakeLlamaCpp(busy=10_000), first_byte_timeout_s=0.3) as (provider, _),
        provider.chat_stream(HELLO) as stream,
    ):
        (end,) = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.TIMEOUT
    assert "loading" in str(end.error)


async def test_a_wish_to_stop_is_noticed_while_the_model_loads() -> None:
    signal = AbortSignal()
    fake = FakeLlamaCpp(busy=10_000)

    async def watched(request: Received, reply: Reply) -> None:
        if request.path == "/health" and fake.busy < 9_999:
            signal.abort()
        await fake(request, reply)

    async with connected(watched) as (provider, _):
        with anyio.fail_after(5):
            async with provider.chat_stream(replace(HELLO, signal=signal)) as stream:
                (end,) = [event async for event in stream]
    assert isinstance(end, Finish)
    assert end.reason == "abort"


async def test_a_server_that_fails_while_it_loads_is_not_waited_for() -> None:
    async def dying(request: Received, reply: Reply) -> None:
        if request.path == "/health":
            reply.cut()
        await reply.json(LOADING, 503)

    async with connected(dying) as (provider, _), provider.chat_stream(HELLO) as stream:
        (end,) = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    assert (end.error.message, end.error.status) == ("Loading model", 503)


async def test_a_full_window_is_reported_with_its_sizes_in_every_framing() -> None:
    message = "request (6009 tokens) exceeds the available context size (4096 tokens)"
    full_window = refusal(400, message, "exceed_context_size_error")
    error = {**full_window["error"], "n_prompt_tokens": 6009, "n_ctx": 4096}  # type: ignore[dict-item]
    framings = {
        "status": (400, {"error": error}, b""),
        "data": (200, {"error": error}, b"data: "),
        "error field": (200, error, b"error: "),
    }
    for status, value, frame in framings.values():

        async def full(_request: Received, reply: Reply) -> None:
            body = frame + json.dumps(value).encode() + b"\n\n"  # noqa: B023 -- awaited below
            kind = "text/event-stream" if frame else "application/json"  # noqa: B023
            await reply.whole(body, status, kind)  # noqa: B023

        async with connected(full) as (provider, _), provider.chat_stream(HELLO) as stream:
            (end,) = [event async for event in stream]
        assert isinstance(end, ErrorEvent)
        assert end.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert end.error.details["prompt_tokens"] == 6009
        assert end.error.details["context_tokens"] == 4096


async def test_a_router_tells_the_state_of_each_model_and_the_window_of_loaded_ones() -> None:
    async with routing(FakeLlamaCpp(router=True)) as (provider, server):
        tiny, big, broken = await provider.list_models()
        (running,) = await provider.list_running()
        shown = await provider.show_model("tiny")
    assert (tiny.loaded, tiny.context, tiny.details["status"]) == (True, 4096, "loaded")
    assert (big.loaded, big.context, big.details["status"]) == (False, None, "unloaded")
    assert (broken.name, broken.capability) == ("broken", None)
    assert running == shown == tiny
    asked = {request.path for request in server.received if request.path.startswith("/props")}
    assert asked == {"/props", "/props?model=tiny&autoload=false"}, "asking loads nothing"


async def test_a_router_loads_and_unloads() -> None:
    fake = FakeLlamaCpp(router=True)
    async with routing(fake) as (provider, server):
        await provider.load_model("tiny")  # it is
        assert not [r for r in server.received if r.method == "POST"]
        await provider.load_model("big")
        assert fake.statuses["big"] == "loaded"
        await provider.unload_model("big")
        await provider.unload_model("big")  # nothing to do
        assert fake.statuses["big"] == "unloaded"
        with pytest.raises(AIError, match="could not load broken: its process ended with 1") as end:
            await provider.load_model("broken")
        assert end.value.code == ErrorCode.MODEL_NOT_LOADED
        (failed,) = [i for i in await provider.list_models() if i.name == "broken"]
        assert failed.details["status"] == "failed"
        for action in (provider.load_model, provider.unload_model, provider.show_model):
            with pytest.raises(AIError) as caught:
                await action("nosuch")
            assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    unloads = [r.path for r in server.received if r.path == "/models/unload"]
    assert len(unloads) == 1


async def test_a_router_fetches_and_deletes() -> None:
    fake = FakeLlamaCpp(router=True)
    async with routing(fake) as (provider, _):
        steps = [step async for step in provider.pull_model("user/new:Q4")]
        assert [(p.digest, p.completed, p.total) for p in steps] == [
            ("a", 100, 500),
            ("b", 0, 9),
            ("a", 200, 500),
            (None, None, None),
        ]
        assert steps[-1].status == "success"
        await provider.delete_model("user/new:Q4")
        assert "user/new:Q4" not in fake.statuses
        with pytest.raises(AIError, match="could not download nosuch"):
            _ = [progress async for progress in provider.pull_model("nosuch")]
    async with routing(FakeLlamaCpp(router=True, older=True)) as (provider, _):
        with pytest.raises(AIError) as caught:
            _ = [progress async for progress in provider.pull_model("user/new:Q4")]
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_a_router_speaks_llamacpps_dialect() -> None:
    async with routing(FakeLlamaCpp(router=True)) as (provider, server):
        asked = replace(HELLO, should_think=False, options=GenerationOptions(repeat_penalty=1.1))
        async with provider.chat_stream(asked) as stream:
            assert isinstance([event async for event in stream][-1], Finish)
    body = server.received[-1].json()
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["repeat_penalty"] == 1.1


async def test_a_server_of_one_model_is_listed_by_a_router_provider_too() -> None:
    async with routing(FakeLlamaCpp()) as (provider, _):
        (info,) = await provider.list_models()
    assert (info.context, info.loaded) == (4096, True)


ENTRIES = [
    {
        "id": "mine",
        "owned_by": "llamacpp",
        "status": {"value": "loaded"},
        "can_remove": False,
        "meta": {"size": 1234, "ftype": "Q4_K_M", "n_ctx": 4096},
    },
    {"id": "user/new:Q4", "owned_by": "llamacpp", "status": {"value": "unloaded"}},
]


def a_router(*, key: str | None = None) -> Handler:
    """Make a router with a file of its folder and a download; its list is open to everybody."""

    async def answer(request: Received, reply: Reply) -> None:
        if request.path in ("/models", "/v1/models") and request.method == "GET":
            await reply.json({"object": "list", "data": ENTRIES})
        elif key is not None and request.headers.get("authorization") != f"Bearer {key}":
            await reply.json({"error": {"message": "Invalid API Key", "code": 401}}, 401)
        else:
            await reply.json({"role": "router"})

    return answer


async def test_a_router_keeps_what_it_did_not_fetch_itself() -> None:
    async with serve(a_router()) as server:
        provider = LlamaCppRouterProvider(spec_for(server.url, "llamacpp-router"))
        models = {info.name: info for info in await provider.list_models()}
        with pytest.raises(AIError) as caught:
            await provider.delete_model("mine")
        await provider.delete_model("user/new:Q4")
        await provider.dispose()
    assert caught.value.message == "mine cannot be deleted from here."
    assert caught.value.hint == models["mine"].details["why_kept"]
    assert "why_kept" not in models["user/new:Q4"].details
    deleted = [request.path for request in server.received if request.method == "DELETE"]
    assert deleted == ["/models?model=user%2Fnew%3AQ4"]


async def test_size_and_quantization_stand_in_the_list_where_the_server_tells_them() -> None:
    async with serve(a_router()) as server:
        provider = LlamaCppRouterProvider(spec_for(server.url, "llamacpp-router"))
        mine, _ = await provider.list_models()
        await provider.dispose()
    assert (mine.size_bytes, mine.details["quantization"]) == (1234, "Q4_K_M")


@pytest.mark.parametrize("kind", [LlamaCppRouterProvider, LlamaCppProvider])
async def test_an_open_list_is_none_where_the_chat_would_be_refused(
    kind: type[LlamaCppProvider],
) -> None:
    async with serve(a_router(key="right")) as server:
        for key, hint in (
            (None, "Set api_key_env below [providers.box]."),
            ("wrong", "Check the API key of provider box."),
        ):
            provider = kind(replace(spec_for(server.url), api_key=key))
            assert await provider.list_models() == []
            assert provider.last_error is not None
            assert provider.last_error.code == ErrorCode.AUTH_FAILED
            assert provider.last_error.hint == hint
            await provider.dispose()
        provider = kind(replace(spec_for(server.url), api_key="right"))
        assert len(await provider.list_models()) == 2
        await provider.dispose()
