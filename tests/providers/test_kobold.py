"""KoboldCpp: what it tells of itself, how it refuses, and that it is told to stop."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.openai_compatible import KoboldProvider
from ollm_tui.providers.openai_compatible.kobold import ABORT_S
from ollm_tui.providers.openai_compatible.models import DRAWS
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.answers import answer
from tests.support.fake_backends import FakeKobold
from tests.support.http_server import Handler, Received, Reply, Server, serve


def ask(prompt: str, **options: object) -> Request:
    chosen = GenerationOptions(**options)  # type: ignore[arg-type]
    return Request(model="tiny", messages=[Message("user", prompt)], options=chosen)


@asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[tuple[KoboldProvider, Server]]:
    async with serve(handler) as server:
        provider = KoboldProvider(
            ProviderSpec(
                name="kobold",
                kind="openai-compatible",
                label="KoboldCpp",
                base_url=server.url,
                backend="kobold",
                idle_timeout_s=0.2,
            )
        )
        yield provider, server
        await provider.dispose()


async def test_it_tells_its_window_its_senses_and_the_tokens_of_a_text() -> None:
    async with connected(FakeKobold()) as (provider, _):
        info, painter = await provider.list_models()
        assert painter.capability == DRAWS
        assert await provider.count_text_tokens("tiny", "hellö") == 6
        assert await provider.count_text_tokens("tiny", "") == 0
    assert (info.context, info.loaded) == (8192, True)
    assert info.capability is not None
    assert info.capability.input == {"text", "image"}


async def test_an_answer_that_ended_is_not_aborted() -> None:
    fake = FakeKobold()
    async with connected(fake) as (provider, _):
        for prompt in ("hello", "tools", "fail", "status 400", "html"):
            await answer(provider, ask(prompt))
    assert len(set(fake.genkeys)) == 5, "each generation has a key of its own"
    assert fake.aborted == []


@pytest.mark.parametrize("wanted", [0, 1, 3])
async def test_an_answer_that_is_left_early_is_stopped_on_the_server(wanted: int) -> None:
    fake = FakeKobold()
    async with connected(fake) as (provider, _), provider.chat_stream(ask("forever")) as stream:
        for _ in range(wanted):
            await anext(stream)
    assert fake.aborted == (fake.genkeys if wanted else [])


async def test_a_signal_stops_the_generation_it_belongs_to() -> None:
    fake = FakeKobold()
    signal = AbortSignal()
    asked = replace(ask("forever"), signal=signal)
    async with connected(fake) as (provider, _), provider.chat_stream(asked) as stream:
        await anext(stream)
        signal.abort()
        end = await anext(stream)
    assert isinstance(end, Finish)
    assert end.reason == "abort"
    assert fake.aborted == fake.genkeys


async def test_a_silence_that_lasts_too_long_is_stopped_too() -> None:
    fake = FakeKobold()
    async with connected(fake) as (provider, _):
        end = (await answer(provider, ask("stall")))[-1]
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.TIMEOUT
    assert fake.aborted == fake.genkeys


async def test_a_cancelled_task_stops_its_generation() -> None:
    fake = FakeKobold()
    async with connected(fake) as (provider, _):
        with anyio.CancelScope() as scope:
            async with provider.chat_stream(ask("forever")) as stream:
                await anext(stream)
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
    assert fake.aborted == fake.genkeys


async def test_a_server_that_does_not_answer_an_abort_delays_nothing() -> None:
    fake = FakeKobold()

    async def deaf(request: Received, reply: Reply) -> None:
        if request.path == "/api/extra/abort":
            await anyio.sleep_forever()
        await fake(request, reply)

    async with connected(deaf) as (provider, _):
        with anyio.fail_after(ABORT_S + 5):
            async with provider.chat_stream(ask("forever")) as stream:
                await anext(stream)
    assert fake.aborted == []


async def test_a_key_of_ones_own_is_kept() -> None:
    fake = FakeKobold()
    async with connected(fake) as (provider, _):
        asked = ask("forever", extra_body={"genkey": "mine"})
        async with provider.chat_stream(asked) as stream:
            await anext(stream)
    assert fake.aborted == fake.genkeys == ["mine"]


async def test_its_refusals_are_reported_in_its_words() -> None:
    async with connected(FakeKobold(full=True)) as (provider, _):
        (busy,) = await answer(provider, ask("hello"))
    async with connected(FakeKobold(key="sk-1")) as (provider, _):
        (stranger,) = await answer(provider, ask("hello"))
    assert isinstance(busy, ErrorEvent)
    assert busy.error.message == "Server is busy; please try again later."
    assert (busy.error.status, busy.error.retryable) == (503, True)
    assert isinstance(stranger, ErrorEvent)
    assert (
        stranger.error.message
        == "KoboldCpp requires an API key: Authentication key is missing or invalid."
    )
    assert stranger.error.code == ErrorCode.AUTH_FAILED


def answering(text: str, reason: str, tokens: int | None = None) -> Handler:
    async def handler(_request: Received, reply: Reply) -> None:
        delta = {"role": "assistant", "content": text}
        usage = {} if tokens is None else {"usage": {"completion_tokens": tokens}}
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "koboldcpp", "choices": [choice], **usage}
        await reply.start(content_type="text/event-stream")
        await reply.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    return handler


async def test_a_generation_that_failed_is_an_error_that_is_not_tried_again() -> None:
    async with connected(answering("", "error")) as (provider, _):
        (end,) = await answer(provider, ask("hello"))
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.retryable) == (ErrorCode.ENGINE_ERROR, False)


@pytest.mark.parametrize(
    ("stop", "most", "written", "reason"),
    [
        (("END",), None, None, "stop"),
        (("END",), 10, 4, "stop"),
        (("END",), 10, 10, "length"),
        (None, None, 4, "length"),
    ],
)
async def test_the_limit_is_distinguished_from_a_stop_sequence_which_it_reports_alike(
    stop: tuple[str, ...] | None, most: int | None, written: int | None, reason: str
) -> None:
    async with connected(answering("It was", "length", written)) as (provider, _):
        events = await answer(provider, ask("hello", stop=stop, max_tokens=most))
    assert isinstance(end := events[-1], Finish)
    assert (end.reason, end.raw_reason) == (reason, "length")


async def test_an_answer_is_kept_within_half_of_a_window_that_is_known() -> None:
    async with connected(FakeKobold()) as (provider, server):
        await answer(provider, ask("hello", max_tokens=100_000))
        await provider.list_models()
        await answer(provider, ask("hello", max_tokens=100_000))
        await answer(provider, ask("hello", max_tokens=100))
    asked = [r.json()["max_tokens"] for r in server.received if r.path.endswith("completions")]
    assert asked == [100_000, 4096, 100]
