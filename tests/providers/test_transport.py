"""What can go wrong on the way, what it is called, and that nothing is left or given away."""

import asyncio
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsList
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers import stream as stream_module
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.asking import (
    ASK,
    CANARY,
    KINDS,
    ask,
    closed_port,
    connected,
    error_of,
    spec_for,
)
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.fakes import FAKES
from tests.support.http_server import Received, Reply, raw_server, sending, serve


async def raw_server_error(answer: bytes) -> AIError:
    """Ask a server that answers any request with these bytes and closes."""
    async with raw_server(sending(answer)) as port:
        return await error_of(spec_for(f"http://127.0.0.1:{port}"))


async def test_no_server_is_reported_with_the_way_to_start_one() -> None:
    port = closed_port()
    error = await error_of(spec_for(f"127.0.0.1:{port}"))
    assert error.message == f"p does not answer at localhost:{port}."
    assert error.hint == "Start it with `ollama serve`, or choose another server with --host."
    assert (error.code, error.retryable) == (ErrorCode.SERVICE_UNAVAILABLE, True)
    named = await error_of(spec_for(f"127.0.0.1:{port}", "openai-compatible", label="My box"))
    assert named.message == f"My box does not answer at localhost:{port}."


async def test_a_name_that_does_not_exist_is_reported_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_such_name(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "getaddrinfo", no_such_name)
    error = await error_of(spec_for("http://nosuch.example:11434"))
    assert error.message == "The name of the server, nosuch.example:11434, cannot be found."
    assert not error.retryable


async def test_a_server_that_hangs_up_at_once_may_be_tried_again() -> None:
    error = await raw_server_error(b"")
    assert "closed the connection without an answer" in error.message
    assert error.retryable


async def test_something_that_speaks_no_http_is_reported_as_such() -> None:
    error = await raw_server_error(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    assert "does not speak HTTP" in error.message


async def test_headers_beyond_measure_end_the_request() -> None:
    huge = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 5_000_000 + b"\r\n\r\n"
    assert "headers are too large" in (await raw_server_error(huge)).message


async def test_a_flood_of_informational_answers_runs_into_the_clock() -> None:
    async def connection(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            while True:
                await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                await anyio.sleep(0.001)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(_ignoring_breaks, listener.serve, connection)
        port = listener.extra(SocketAttribute.local_port)
        error = await error_of(spec_for(f"http://127.0.0.1:{port}", first_byte_timeout_s=0.2))
        group.cancel_scope.cancel()
    assert error.code == ErrorCode.TIMEOUT


async def _ignoring_breaks(serve_with: object, handler: object) -> None:
    async def guarded(stream: SocketStream) -> None:
        try:
            await handler(stream)  # type: ignore[operator]
        except anyio.BrokenResourceError:
            return

    await serve_with(guarded)  # type: ignore[operator]


async def test_a_setting_that_cannot_be_used_is_reported_where_it_is_used() -> None:
    problem = AIError(ErrorCode.BAD_REQUEST, "${KEY} is not set.", provider="p")
    assert await error_of(spec_for("http://127.0.0.1:1", problem=problem)) == problem


@pytest.mark.parametrize("kind", KINDS)
async def test_connections_are_used_again_after_complete_answers(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "LAST_BYTES_S", 2.0)  # a busy machine is late too
    handler = FAKES[kind]

    async def ends_late(request: Received, reply: Reply) -> None:
        await handler(request, reply)
        await anyio.sleep(0.02)

    async with serve(ends_late) as server:
        async with connected(spec_for(server.url, kind)) as provider:
            for _ in range(5):
                async with provider.chat_stream(ASK) as stream:
                    assert [event async for event in stream]
        assert server.opened == 1
        await server.settled()


async def test_a_slow_consumer_slows_the_server_and_not_the_memory() -> None:
    sent = 0

    async def floods(request: Received, reply: Reply) -> None:
        nonlocal sent
        await reply.start(content_type="application/x-ndjson")
        line = b'{"message":{"content":"%s"},"done":false}\n' % (b"x" * 1000)
        while True:
            await reply.write(line * 60)
            sent += 60_000

    async with (
        serve(floods) as server,
        connected(spec_for(server.url)) as slow,
        slow.chat_stream(ASK) as stream,
    ):
        await anext(stream)
        for _ in range(50):
            await anyio.sleep(0.01)
        assert sent < 30_000_000


async def test_the_server_sees_an_abort_within_milliseconds() -> None:
    late = []
    forever = [Message("user", "forever 500")]
    async with serve(fake_ollama) as server, connected(spec_for(server.url)) as provider:
        for _ in range(50):
            signal = AbortSignal()
            asked = Request(model="tiny", messages=forever, signal=signal)
            async with provider.chat_stream(asked) as stream:
                await anext(stream)
                begun = anyio.current_time()
                signal.abort()
                assert isinstance(await anext(stream), Finish)
            await server.settled()
            late.append(server.disconnects[-1] - begun)
    assert sorted(late)[-1] < 0.1


async def test_a_server_that_takes_no_connection_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        error = await error_of(spec_for(f"http://127.0.0.1:{port}", connect_timeout_s=0.2))
        for one in waiting:
            one.close()
    assert "did not respond in time" in error.message
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)


async def test_a_list_that_takes_too_long_is_given_up() -> None:
    async def silent(request: Received, reply: Reply) -> None:
        await anyio.sleep_forever()

    async with (
        serve(silent) as server,
        connected(spec_for(server.url, list_timeout_s=0.1)) as provider,
    ):
        assert isinstance(provider, SupportsList)
        with pytest.raises(AIError, match=r"did not reply within 0\.1 s") as caught:
            await provider.list_models()
        await server.settled()
    assert caught.value.retryable


@pytest.mark.parametrize(
    "url", ["http://exa mple.com", "http://a\x00b", "http://xn--a", "http://-"]
)
@pytest.mark.parametrize("kind", KINDS)
async def test_an_address_that_cannot_be_is_an_error_in_words(kind: str, url: str) -> None:
    try:
        spec = spec_for(url, kind)
        create_provider(spec)
    except AIError:
        return
    assert (await error_of(spec)).hint


async def test_a_list_that_is_cancelled_twice_leaves_no_connection() -> None:
    async def silent(request: Received, reply: Reply) -> None:
        await anyio.sleep_forever()

    async with serve(silent) as server, connected(spec_for(server.url)) as provider:
        assert isinstance(provider, SupportsList)
        for wanted in range(1, 6):
            task = asyncio.get_running_loop().create_task(_listing(provider))
            while len(server.received) < wanted * 2:
                await anyio.sleep(0.001)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.settled()
    assert len(server.disconnects) == 10


async def _listing(provider: SupportsList) -> None:
    await provider.list_models()


def test_naming_the_kinds_loads_no_http_client() -> None:
    code = "import sys, ollm_tui.providers, ollm_tui.providers.spec; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(AIError, match="openai-compatible"):
        create_provider(ProviderSpec(name="p", kind="olama"))
    with pytest.raises(AIError, match="no address"):
        create_provider(ProviderSpec(name="p", kind="openai-compatible"))


@pytest.fixture(autouse=True)
def _no_open_sockets() -> Iterator[None]:
    """Every test here has to leave as many open files as it found."""
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    yield
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    assert after <= before + 4, "sockets are left open"


@pytest.mark.parametrize("kind", KINDS)
def test_an_address_that_cannot_be_used_names_its_provider(kind: str) -> None:
    with pytest.raises(AIError, match="not usable") as caught:
        create_provider(ProviderSpec(name="work", kind=kind, base_url="http://["))
    assert caught.value.provider == "work"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_query_of_the_address_and_further_headers_are_on_every_request(kind: str) -> None:
    async with serve(FAKES[kind]) as server:
        url = f"{server.url}/gate?api-version=2024-10-21&x=%2F"
        async with connected(spec_for(url, kind, headers={"api-key": CANARY})) as provider:
            async with provider.chat_stream(ASK) as stream:
                assert [event async for event in stream]
            assert isinstance(provider, SupportsList)
            with suppress(AIError):
                await provider.list_models()
    assert len(server.received) > 1
    for request in server.received:
        path, _, query = request.path.partition("?")
        assert path.startswith("/gate/")
        assert "/v1" not in path
        assert query.startswith("api-version=2024-10-21&x=%2F")
        assert request.headers["api-key"] == CANARY


async def test_an_azure_deployment_is_asked_where_it_is() -> None:
    async with serve(FakeOpenAI()) as server:
        url = f"{server.url}/openai/deployments/gpt?api-version=2024-10-21"
        await ask(spec_for(url, "openai-compatible", headers={"api-key": CANARY}))
    assert server.received[0].path == (
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    )


async def test_a_fake_server_counts_a_client_that_writing_finds_gone() -> None:
    client = socket.socket()
    reset_on_close = struct.pack("ii", 1, 0)

    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset_on_close)
        client.close()
        while True:
            await reply.write(b"more")

    async with serve(answer) as server:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", server.port))
        await loop.sock_sendall(client, b"GET / HTTP/1.1\r\n\r\n")
        while not server.received:
            await asyncio.sleep(0)
        await server.settled()
        assert len(server.disconnects) == 1
