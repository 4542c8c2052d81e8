"""The four clocks of every provider: to connect, to the first byte, between two signs of life, to
answer a small question. Each is told with its seconds, and what it ended is closed."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    RemembersListError,
    SupportsDispose,
    SupportsList,
)
from ollm_tui.protocol.provider_events import ErrorEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.contract.selection import remotes
from tests.support.fakes import REMOTES
from tests.support.frames import text_frame
from tests.support.http_server import Handler, Received, Reply, Server, serve

SHORT_S, IDLE_S, LONG_S = 0.2, 0.6, 30.0
TIMEOUT_S = 10.0
STOP = "/api/extra/abort"


def spec_for(kind: str, url: str, **short: float) -> ProviderSpec:
    """Give settings whose clocks are all long but one."""
    clocks = {
        "connect_timeout_s": LONG_S,
        "first_byte_timeout_s": LONG_S,
        "idle_timeout_s": LONG_S,
        "list_timeout_s": LONG_S,
    } | short
    return REMOTES[kind].spec(url, **clocks)


@asynccontextmanager
async def asking(
    kind: str, handler: Handler, **short: float
) -> AsyncIterator[tuple[ProviderAdapter, Server]]:
    async def answer(request: Received, reply: Reply) -> None:
        if request.path == STOP:  # KoboldCpp is told to stop what it may still be writing
            await reply.json({"success": "true"})
        else:
            await handler(request, reply)

    async with serve(answer) as server:
        provider = create_provider(spec_for(kind, server.url, **short))
        yield provider, server
        await server.settled()
        asked = [request.method == "POST" for request in server.received if request.path != STOP]
        stopped = [request for request in server.received if request.path == STOP]
        assert len(stopped) == (any(asked) and kind == "kobold")
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


async def error_of(provider: ProviderAdapter) -> tuple[str, AIError]:
    request = Request(model="tiny", messages=[Message("user", "hello")])
    with anyio.fail_after(TIMEOUT_S):
        async with provider.chat_stream(request) as stream:
            *events, end = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    return "".join(e.delta for e in events if isinstance(e, TextDelta)), end.error


@contextmanager
def full_backlog() -> Iterator[str]:
    """Give the address of a server that takes no connection any more."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield f"http://127.0.0.1:{port}"
        for one in waiting:
            one.close()


@pytest.mark.parametrize("kind", remotes())
async def test_a_server_that_takes_no_connection_runs_into_the_clock_to_connect(kind: str) -> None:
    with full_backlog() as url:
        provider = create_provider(spec_for(kind, url, connect_timeout_s=SHORT_S))
        _, error = await error_of(provider)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert "did not respond in time" in error.message
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)


async def silent(request: Received, reply: Reply) -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize("begins", [False, True], ids=["nothing", "a head and pings"])
@pytest.mark.parametrize("kind", remotes())
async def test_a_model_that_says_nothing_runs_into_the_clock_of_the_first_byte(
    kind: str, begins: bool
) -> None:
    async def pings(request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        while True:
            await reply.write(b"\n" if REMOTES[kind].wire == "ollama" else b": ping\n\n")
            await anyio.sleep(0.01)

    async with asking(kind, pings if begins else silent, first_byte_timeout_s=SHORT_S) as (
        provider,
        server,
    ):
        _, error = await error_of(provider)
        await server.settled()
        assert len(server.disconnects) == 1
    assert error.code == ErrorCode.TIMEOUT
    assert f"sent no answer within {SHORT_S:g} s" in error.message
    assert "first_byte_timeout_s" in (error.hint or "")


@pytest.mark.parametrize("kind", remotes())
async def test_an_answer_that_stands_still_runs_into_the_clock_between_signs(kind: str) -> None:
    async def stands_still(request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        for _ in range(6):  # together longer than the clock
            await reply.write(text_frame(REMOTES[kind].wire, "word "))
            await anyio.sleep(IDLE_S / 5)
        await anyio.sleep_forever()

    async with asking(kind, stands_still, idle_timeout_s=IDLE_S) as (provider, server):
        text, error = await error_of(provider)
        await server.settled()
        assert len(server.disconnects) == 1
    assert text == "word " * 6
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, False)
    assert f"sent nothing for {IDLE_S:g} s" in error.message
    assert "idle_timeout_s" in (error.hint or "")


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "dripping"])
@pytest.mark.parametrize("kind", remotes())
async def test_a_small_question_that_is_not_answered_runs_into_its_clock(
    kind: str, drips: bool
) -> None:
    async def drip(request: Received, reply: Reply) -> None:
        await reply.start()
        while True:
            await reply.write(b" ")
            await anyio.sleep(0.01)

    async with asking(kind, drip if drips else silent, list_timeout_s=SHORT_S) as (
        provider,
        server,
    ):
        assert isinstance(provider, SupportsList)
        with anyio.fail_after(TIMEOUT_S):
            try:
                assert await provider.list_models() == []
                assert isinstance(provider, RemembersListError)
                error = provider.last_error
            except AIError as raised:
                error = raised
        await server.settled()
        assert len(server.disconnects) == len(server.received)
    assert error is not None
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)
    assert f"did not reply within {SHORT_S:g} s" in error.message
