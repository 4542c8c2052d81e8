"""Seven ways in which a network spoils answers, in front of every kind of remote provider.

`OUTCOMES` says what has to come of each. Whatever comes, the connection is closed and exactly one
end was given.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest
from anyio.abc import SocketStream

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    RemembersListError,
    SupportsDispose,
    SupportsList,
)
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.answers import text_of
from tests.providers.fault_proxy import FaultProxy, Toxics, fault_proxy
from tests.support.fake_backends import FakeKobold, FakeLlamaCpp, FakeLMStudio, FakeLocalAI
from tests.support.fake_vllm import FakeVllm
from tests.support.fakes import FAKES
from tests.support.http_server import Handler, Server, raw_server, serve
from tests.support.seeds import chance_for

pytestmark = pytest.mark.slow

BACKENDS: Mapping[str, Callable[[], Handler]] = {
    "lmstudio": FakeLMStudio,
    "localai": FakeLocalAI,
    "kobold": FakeKobold,
    "llamacpp": FakeLlamaCpp,
    "vllm": FakeVllm,
}
KINDS = [kind for kind in FAKES if kind != "openai"]
KINDS_AND_SLOWLY_OTHERS = [
    *KINDS,
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("openai", *BACKENDS)),
]
"""The others are the openai-compatible provider with another address, or with something added."""
KEEPS_ONE = ("kobold",)
"""It is told to stop over a connection that is good for the next request, until it is closed."""
FIRST_BYTE_S, IDLE_S = 0.6, 0.3
LONG_S = 30.0
BOUND_S = 10.0
HELLO = "Hello, world!"
HEAD_BYTES = 40
"""Inside the head of any answer."""


@dataclass(frozen=True)
class Outcome:
    """What comes of an answer; `code` is None where it ends well."""

    prompt: str
    text: str | None
    """None where any beginning of the text will do."""
    code: ErrorCode | None = None
    retryable: bool = False
    says: str = ""


CUT = Outcome("words 40", None, ErrorCode.STREAM_INCOMPLETE, says="ended in the middle")
CLOSED = Outcome(
    "hello", "", ErrorCode.SERVICE_UNAVAILABLE, retryable=True, says="without an answer"
)
MATRIX: Mapping[str, tuple[Toxics, Outcome]] = {
    "latency": (Toxics(latency_s=0.03), Outcome("hello", HELLO)),
    "latency beyond the clock": (
        Toxics(latency_s=3.0),
        Outcome("hello", "", ErrorCode.TIMEOUT, says="sent no answer within 0.6 s"),
    ),
    "bandwidth": (Toxics(bytes_per_s=20_000, slices=200), Outcome("hello", HELLO)),
    "bandwidth of a drip": (
        Toxics(bytes_per_s=100, slices=4),
        Outcome("hello", "", ErrorCode.TIMEOUT, says="sent no answer within 0.6 s"),
    ),
    "slow close": (Toxics(slow_close_s=3.0), Outcome("hello", HELLO)),
    "timeout at once": (
        Toxics(timeout_after=0),
        Outcome("hello", "", ErrorCode.TIMEOUT, says="sent no answer within 0.6 s"),
    ),
    "timeout in the head": (
        Toxics(timeout_after=HEAD_BYTES),
        Outcome("hello", "", ErrorCode.TIMEOUT, says="sent no answer within 0.6 s"),
    ),
    "timeout in the answer": (
        Toxics(timeout_after=2500),
        Outcome("words 40", None, ErrorCode.TIMEOUT, says="sent nothing for 0.3 s"),
    ),
    "reset at once": (Toxics(reset_after=0), CLOSED),
    "reset in the head": (Toxics(reset_after=HEAD_BYTES), CLOSED),
    "reset in the answer": (Toxics(reset_after=2500), CUT),
    "slicer": (Toxics(slices=3), Outcome("unicode", "日本語 🎌 ñ é 👩‍👩‍👧 ok")),
    "limit at once": (Toxics(limit_bytes=0), CLOSED),
    "limit in the head": (Toxics(limit_bytes=HEAD_BYTES), CLOSED),
    "limit in the answer": (Toxics(limit_bytes=2500), CUT),
    "all that only slows": (
        Toxics(latency_s=0.005, bytes_per_s=200_000, slices=150, slow_close_s=0.02),
        Outcome("hello", HELLO),
    ),
}


@asynccontextmanager
async def behind(
    kind: str,
    toxics: Toxics,
    seed: int = 1,
    *,
    first_byte_s: float = LONG_S,
    idle_s: float = LONG_S,
) -> AsyncIterator[tuple[ProviderAdapter, FaultProxy, Server]]:
    """Give a provider that asks its fake through the proxy."""
    is_backend = kind in BACKENDS
    handler = BACKENDS[kind]() if is_backend else FAKES[kind]
    async with serve(handler) as server, fault_proxy(server.url, toxics, seed) as proxy:
        spec = ProviderSpec(
            name="p",
            kind="openai-compatible" if is_backend else kind,
            backend=kind if is_backend else None,
            base_url=proxy.url,
            first_byte_timeout_s=first_byte_s,
            idle_timeout_s=idle_s,
            list_timeout_s=0.4,
        )
        provider = create_provider(spec)
        try:
            yield provider, proxy, server
        finally:
            assert isinstance(provider, SupportsDispose)
            await provider.dispose()
            await proxy.quiet()
            await server.settled()


async def answer(
    provider: ProviderAdapter, prompt: str, signal: AbortSignal | None = None
) -> list[ProviderEvent]:
    request = Request(model="tiny", messages=[Message("user", prompt)], signal=signal)
    with anyio.fail_after(BOUND_S):
        async with provider.chat_stream(request) as stream:
            events = [event async for event in stream]
            assert [event async for event in stream] == []
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert ends == [events[-1]]
    return events


def check(events: Sequence[ProviderEvent], outcome: Outcome) -> None:
    text, end = text_of(events), events[-1]
    assert text == outcome.text if outcome.text is not None else text
    if outcome.code is None:
        assert isinstance(end, Finish), end
        return
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.retryable) == (outcome.code, outcome.retryable), end.error
    assert outcome.says in end.error.message
    assert end.error.hint
    if outcome.text is None:
        assert "".join(f"word{n} " for n in range(40)).startswith(text)


@pytest.mark.parametrize("kind", KINDS_AND_SLOWLY_OTHERS)
@pytest.mark.parametrize("toxic", MATRIX)
async def test_a_toxic_has_its_outcome_and_leaves_no_connection(kind: str, toxic: str) -> None:
    toxics, outcome = MATRIX[toxic]
    clocks = {
        "first_byte_s": FIRST_BYTE_S if outcome.says.endswith(f"{FIRST_BYTE_S} s") else LONG_S,
        "idle_s": IDLE_S if outcome.says.endswith(f"{IDLE_S} s") else LONG_S,
    }
    async with behind(kind, toxics, **clocks) as (provider, proxy, server):  # type: ignore[arg-type]
        began = time.monotonic()
        check(await answer(provider, outcome.prompt), outcome)
        assert time.monotonic() - began < FIRST_BYTE_S + 2
        if outcome.code is not None and kind not in KEEPS_ONE:
            await proxy.quiet()  # without waiting for the provider to be closed
            await server.settled()


@pytest.mark.parametrize("kind", KINDS_AND_SLOWLY_OTHERS)
@pytest.mark.parametrize("toxic", MATRIX)
async def test_a_stop_behind_a_toxic_is_noticed_at_once_and_closes(kind: str, toxic: str) -> None:
    toxics, _ = MATRIX[toxic]
    if any(limit is not None for limit in (toxics.reset_after, toxics.limit_bytes)):
        return  # there the network ends the answer first
    signal = AbortSignal()
    async with behind(kind, toxics) as (provider, proxy, server):
        seen: list[ProviderEvent] = []

        async def ask() -> None:
            seen.extend(await answer(provider, "forever", signal))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            while not server.answering:
                await anyio.sleep(0.001)
            began = time.monotonic()
            signal.abort()
        end = seen[-1]
        assert isinstance(end, Finish)
        assert end.reason == "abort"
        assert time.monotonic() - began < 1.5  # not what the toxic takes
        if kind not in KEEPS_ONE:
            await proxy.quiet()
            await server.settled()


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_behind_any_network_are_whole_or_not_there(kind: str) -> None:
    chance = chance_for(20_266)
    whole = [("weather", {"city": "Oslo"}), ("clock", {})]
    seen = set()
    for _ in range(25):
        limit = chance.choice((None, chance.randrange(300, 3500)))
        toxics = Toxics(
            slices=chance.choice((None, 5, 80)),
            reset_after=limit if chance.random() < 0.5 else None,
            limit_bytes=limit if chance.random() < 0.5 else None,
        )
        async with behind(kind, toxics, chance.randrange(10**6)) as (provider, _proxy, _server):
            events = await answer(provider, "tools")
        calls = [(e.call.name, e.call.args) for e in events if isinstance(e, ToolCallEvent)]
        assert calls == (whole if isinstance(events[-1], Finish) else [])
        seen.add(type(events[-1]))
    assert seen == {Finish, ErrorEvent}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_listing_behind_a_network_that_says_nothing_runs_into_its_clock(kind: str) -> None:
    async with behind(kind, Toxics(timeout_after=HEAD_BYTES)) as (provider, proxy, _server):
        assert isinstance(provider, SupportsList)
        began = time.monotonic()
        try:
            assert await provider.list_models() == []
            assert isinstance(provider, RemembersListError)
            error = provider.last_error
        except AIError as raised:
            error = raised
        assert 0.3 < time.monotonic() - began < 2
        await proxy.quiet()
    assert error is not None
    assert "did not reply within 0.4 s" in error.message


async def test_the_same_seed_cuts_the_same_slices() -> None:
    async def sizes(seed: int) -> list[int]:
        async def sends(stream: SocketStream) -> None:
            async with stream:
                await stream.send(b"x" * 2000)

        async with raw_server(sends) as port:
            url = f"http://127.0.0.1:{port}"
            async with fault_proxy(url, Toxics(slices=100), seed) as proxy:
                host, _, own_port = proxy.url.removeprefix("http://").partition(":")
                async with await anyio.connect_tcp(host, int(own_port)) as stream:
                    assert sum([len(piece) async for piece in stream]) == 2000
        return proxy.pieces

    assert await sizes(7) == await sizes(7) != await sizes(8)
