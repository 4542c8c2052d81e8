"""What is left over on a connection is never read as the reply to the next request."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import pytest
import trustme
from anyio.abc import AnyByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSListener

from ollm_tui.protocol.fetch import FetchRequest
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider, watched_stream
from ollm_tui.providers.fetcher import HttpFetcher
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.read_coalescer import PIECE_BYTES
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import Transport

ASK = Request(model="tiny", messages=[Message("user", "hello")])
ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")
KINDS = ("ollama", "openai-compatible", "openai", "anthropic")


def _body(kind: str, text: str) -> bytes:
    """Give a whole answer of one word in the format of an adapter."""
    match kind:
        case "ollama":
            return b'{"message":{"content":"%s"},"done":true}\n' % text.encode()
        case "anthropic":
            return (
                b'data: {"type":"message_start","message":{}}\n\n'
                b'data: {"type":"content_block_start","index":0,"content_block":'
                b'{"type":"text","text":"%s"}}\n\n'
                b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
                b'data: {"type":"message_stop"}\n\n'
            ) % text.encode()
        case "json":
            return b'{"text":"%s"}' % text.encode()
        case _:
            return (
                b'data: {"choices":[{"delta":{"content":"%s"},"finish_reason":"stop"}]}\n\n'
                b"data: [DONE]\n\n"
            ) % text.encode()


def _sized(body: bytes, *, status: bytes = b"200 OK", version: bytes = b"1.1") -> bytes:
    return b"HTTP/%s %s\r\ncontent-length: %d\r\n\r\n%s" % (version, status, len(body), body)


def _chunked(body: bytes, trailers: bytes = b"") -> bytes:
    framed = b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailers)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + framed


@dataclass
class Pushy:
    """A server whose replies are raw bytes, made by `reply` from the number of the request.

    It closes the connection in place of an empty reply.
    """

    reply: Callable[[int], bytes]
    later: bytes = b""
    """Sent on the first connection when the test says so, while it waits in the pool."""
    early: Callable[[int], bytes] | None = None
    """Given instead of `reply` once the head of a request is there, before its body is read."""
    url: str = ""
    opened: int = 0
    asked: int = 0
    push: anyio.Event = field(default_factory=anyio.Event)
    pushed: anyio.Event = field(default_factory=anyio.Event)

    async def connection(self, stream: AnyByteStream) -> None:
        self.opened += 1
        number = self.opened
        async with stream, anyio.create_task_group() as group:
            if number == 1 and self.later:
                group.start_soon(self._push, stream)
            with suppress(anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream):
                await self._answer(stream)
            group.cancel_scope.cancel()

    async def _answer(self, stream: AnyByteStream) -> None:
        reader = BufferedByteReceiveStream(stream)
        while True:
            head = await reader.receive_until(b"\r\n\r\n", 64 * 1024)
            self.asked += 1
            early = self.early and self.early(self.asked)
            if early:
                await stream.send(early)
            lines = head.lower().split(b"\r\n")
            length = next((int(ln[15:]) for ln in lines if ln.startswith(b"content-length:")), 0)
            await reader.receive_exactly(length) if length else None
            if early:
                continue
            if not (reply := self.reply(self.asked)):
                return
            await stream.send(reply)

    async def _push(self, stream: AnyByteStream) -> None:
        await self.push.wait()
        await stream.send(self.later)
        self.pushed.set()


@asynccontextmanager
async def serving(server: Pushy, tls: ssl.SSLContext | None = None) -> AsyncIterator[Pushy]:
    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = tcp.extra(SocketAttribute.local_port)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    listener = TLSListener(tcp, tls, standard_compatible=False) if tls else tcp
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.connection, group)
        yield server
        group.cancel_scope.cancel()


@asynccontextmanager
async def connected(kind: str, url: str, **more: object) -> AsyncIterator[ProviderAdapter]:
    spec = ProviderSpec(name="p", kind=kind, base_url=url, **more)  # type: ignore[arg-type]
    provider = create_provider(spec)
    assert isinstance(provider, SupportsDispose)
    try:
        yield provider
    finally:
        await provider.dispose()


async def text_of(provider: ProviderAdapter, request: Request = ASK) -> str:
    async with provider.chat_stream(request) as stream:
        events: list[ProviderEvent] = [event async for event in stream]
    assert isinstance(events[-1], Finish), events
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def _stale(kind: str) -> bytes:
    return _sized(_body(kind, "STALE"))


def _over(kind: str) -> Mapping[str, Callable[[int], bytes]]:
    """Replies with something left over, by what it is."""

    def body_of(number: int) -> bytes:
        return _body(kind, f"answer {number}")

    return {
        "a second response after content-length": lambda n: _sized(body_of(n)) + _stale(kind),
        "a second response after chunks": lambda n: _chunked(body_of(n)) + _stale(kind),
        "a second response after trailers": lambda n: (
            _chunked(body_of(n), b"x-sum: 1\r\n") + _stale(kind)
        ),
        "half a response": lambda n: _sized(body_of(n)) + _stale(kind)[:40],
        "a line break": lambda n: _sized(body_of(n)) + b"\r\n",
        "body bytes beyond the length": lambda n: _sized(body_of(n)) + body_of(n),
        "an interim response": lambda n: _sized(body_of(n)) + b"HTTP/1.1 100 Continue\r\n\r\n",
        "interim responses before, a response after": lambda n: (
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
            + _sized(body_of(n))
            + _stale(kind)
        ),
        "more than is read at once": lambda n: _sized(body_of(n)) + _stale(kind) * 2000,
        "exactly what is read at once, then a response": lambda n: (
            _sized(
                body_of(n) + b"\n" * (PIECE_BYTES - len(_sized(body_of(n) + b"\n" * 65000)) + 65000)
            )
            + _stale(kind) * 200
        ),
        "HTTP/1.0": lambda n: _sized(body_of(n), version=b"1.0") + _stale(kind),
        "both lengths": lambda n: (
            _chunked(body_of(n)).replace(b"\r\n\r\n", b"\r\ncontent-length: 3\r\n\r\n", 1)
            + _stale(kind)
        ),
        "keep-alive and close": lambda n: (
            _sized(body_of(n)).replace(b"\r\n\r\n", b"\r\nconnection: keep-alive, close\r\n\r\n", 1)
            + _stale(kind)
        ),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left_over", [*_over("json")])
async def test_what_is_left_over_is_not_the_next_answer(kind: str, left_over: str) -> None:
    async with (
        serving(Pushy(_over(kind)[left_over])) as server,
        connected(kind, server.url) as provider,
    ):
        assert [await text_of(provider) for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]
        assert server.opened == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_what_comes_while_a_connection_waits_closes_it(kind: str) -> None:
    server = Pushy(lambda n: _sized(_body(kind, f"answer {n}")), later=_stale(kind))
    async with serving(server), connected(kind, server.url) as provider:
        assert await text_of(provider) == "answer 1"
        server.push.set()
        await server.pushed.wait()
        assert await text_of(provider) == "answer 2"
        assert server.opened == 2
        assert await text_of(provider) == "answer 3"
        assert server.opened == 2


@pytest.mark.parametrize("left_over", [*_over("json")])
async def test_a_small_reply_is_never_what_was_left_over(left_over: str) -> None:
    async with serving(Pushy(_over("json")[left_over])) as server:
        transport = Transport(ProviderSpec(name="p", kind="x"), server.url, ENDPOINT, {})
        replies = [await transport.json("GET", "/models") for _ in range(3)]
        await transport.aclose()
    assert replies == [{"text": f"answer {n}"} for n in (1, 2, 3)]


@pytest.mark.parametrize("left_over", [*_over("json")])
async def test_a_download_is_never_what_was_left_over(left_over: str) -> None:
    async with serving(Pushy(_over("json")[left_over])) as server:
        fetcher = HttpFetcher()
        for number in (1, 2, 3):
            async with fetcher.fetch(FetchRequest(url=f"{server.url}/file")) as fetched:
                body = b"".join([piece async for piece in fetched.pieces()])
            assert body.strip() == _body("json", f"answer {number}")
        await fetcher.aclose()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_body_that_goes_on_after_the_end_mark_is_not_the_next_answer(kind: str) -> None:
    def reply(number: int) -> bytes:
        body_of, stale = _body(kind, f"answer {number}"), _body(kind, "STALE")
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        return head + b"".join(
            b"%x\r\n%s\r\n" % (len(part), part) for part in (body_of, stale, stale)
        )

    async with serving(Pushy(reply)) as server, connected(kind, server.url) as provider:
        assert [await text_of(provider) for _ in range(2)] == ["answer 1", "answer 2"]
        assert server.opened == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_what_comes_after_an_abort_is_not_the_next_answer(kind: str) -> None:
    server = Pushy(lambda n: _chunked(_body(kind, f"answer {n}")) + _stale(kind))
    async with serving(server), connected(kind, server.url) as provider:
        signal = AbortSignal()
        asked = Request(model="tiny", messages=[Message("user", "hello")], signal=signal)
        async with provider.chat_stream(asked) as stream:
            await anext(stream)
            signal.abort()
            assert [event async for event in stream]
        assert await text_of(provider) == "answer 2"
        assert server.opened == 2


async def test_an_early_reply_closes_its_connection() -> None:
    server = Pushy(lambda n: b"", early=lambda n: _sized(_body("ollama", f"answer {n}")))
    long = Request(model="tiny", messages=[Message("user", "x" * 3_000_000)])
    async with serving(server), connected("ollama", server.url) as provider:
        assert [await text_of(provider, long) for _ in range(2)] == ["answer 1", "answer 2"]
        assert server.opened == 2


async def test_an_early_reply_on_a_used_connection_is_not_believed() -> None:
    server = Pushy(
        lambda n: _sized(_body("ollama", f"answer {n}")),
        early=lambda n: _stale("ollama") if n == 2 else b"",
    )
    long = Request(model="tiny", messages=[Message("user", "x" * 3_000_000)])
    async with serving(server), connected("ollama", server.url) as provider:
        assert await text_of(provider) == "answer 1"
        async with provider.chat_stream(long) as stream:
            (event,) = [event async for event in stream]
        assert isinstance(event, ErrorEvent)
        assert event.error.retryable
        assert "replied before it had the whole request" in event.error.message
        assert await text_of(provider, long) == "answer 3"
        assert server.opened == 2


async def test_an_early_refusal_is_reported_in_the_server_s_words() -> None:
    refusal = _sized(b'{"error":"too large"}', status=b"413 Content Too Large")
    server = Pushy(
        lambda n: _sized(_body("ollama", f"answer {n}")),
        early=lambda n: refusal if n == 2 else b"",
    )
    long = Request(model="tiny", messages=[Message("user", "x" * 3_000_000)])
    async with serving(server), connected("ollama", server.url) as provider:
        assert await text_of(provider) == "answer 1"
        async with provider.chat_stream(long) as stream:
            (event,) = [event async for event in stream]
        assert isinstance(event, ErrorEvent)
        assert event.error.message == "too large"
        assert await text_of(provider) == "answer 3"
        assert server.opened == 2


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.mark.parametrize("left_over", [*_over("json")])
async def test_what_is_left_over_below_tls_is_not_the_next_answer(
    left_over: str, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pem = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with (
        serving(Pushy(_over("ollama")[left_over]), tls) as server,
        connected("ollama", server.url, ca_file=pem) as provider,
    ):
        assert [await text_of(provider) for _ in range(3)] == ["answer 1", "answer 2", "answer 3"]
        assert server.opened == 3


@pytest.mark.parametrize("secure", [False, True])
async def test_a_clean_connection_is_used_again(
    *, secure: bool, authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pem = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    server = Pushy(lambda n: _chunked(_body("ollama", f"answer {n}")))
    long = Request(model="tiny", messages=[Message("user", "x" * 3_000_000)])
    async with (
        serving(server, tls if secure else None),
        connected("ollama", server.url, ca_file=pem if secure else None) as provider,
    ):
        for _ in range(10):
            await text_of(provider)
            await text_of(provider, long)
        assert server.opened == 1


@pytest.fixture
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end is soon enough however long the machine takes to see it."""
    monkeypatch.setattr(watched_stream, "STALE_S", 60.0)


@pytest.mark.usefixtures("slow_machine")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_request_on_a_connection_that_was_just_closed_goes_over_another(kind: str) -> None:
    server = Pushy(lambda n: b"" if n == 2 else _sized(_body(kind, f"answer {n}")))
    async with serving(server), connected(kind, server.url) as provider:
        assert [await text_of(provider) for _ in range(2)] == ["answer 1", "answer 3"]
    assert (server.opened, server.asked) == (2, 3)


@pytest.mark.usefixtures("slow_machine")
async def test_a_request_is_sent_again_once_and_not_on_a_new_connection() -> None:
    server = Pushy(lambda n: b"" if n >= 2 else _sized(_body("ollama", "answer 1")))
    async with serving(server), connected("ollama", server.url) as provider:
        assert await text_of(provider) == "answer 1"
        async with provider.chat_stream(ASK) as stream:
            (end,) = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    assert "without an answer" in end.error.message
    assert (server.opened, server.asked) == (2, 3)


@pytest.mark.usefixtures("slow_machine")
async def test_a_request_is_sent_again_once_however_many_connections_wait() -> None:
    have_all = anyio.Event()

    class Patient(Pushy):
        async def connection(self, stream: AnyByteStream) -> None:
            if self.opened == 3:
                have_all.set()
            await super().connection(stream)

        async def _answer(self, stream: AnyByteStream) -> None:
            await have_all.wait()
            await super()._answer(stream)

    server = Patient(lambda n: b"" if n > 4 else _sized(_body("ollama", f"answer {n}")))
    async with serving(server), connected("ollama", server.url) as provider:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(text_of, provider)
        async with provider.chat_stream(ASK) as stream:
            (end,) = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    assert "without an answer" in end.error.message
    assert (server.opened, server.asked) == (5, 6)


async def test_a_server_that_dies_of_a_prompt_does_not_get_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watched_stream, "STALE_S", 0.0)
    server = Pushy(lambda n: b"" if n == 2 else _sized(_body("ollama", f"answer {n}")))
    async with serving(server), connected("ollama", server.url) as provider:
        assert await text_of(provider) == "answer 1"
        async with provider.chat_stream(ASK) as stream:
            (end,) = [event async for event in stream]
    assert isinstance(end, ErrorEvent)
    assert (server.opened, server.asked) == (1, 2)
