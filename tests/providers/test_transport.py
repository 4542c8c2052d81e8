"""What can go wrong on the way, what it is called, and that nothing is left or given away."""

import asyncio
import base64
import gzip
import json
import logging
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx
import pytest
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSListener

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsDispose,
    SupportsList,
    SupportsTokenCount,
)
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    LeftOut,
    ProviderEvent,
    TextDelta,
)
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers import stream as stream_module
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.response_reader import BadEncoding, Inflater, ResponseReader
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.transport import encoded_body
from tests.support.fake_anthropic import fake_anthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import fake_openai
from tests.support.http_server import Handler, Received, Reply, serve

CANARY = "sk-canary-0123456789"
ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")
FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": fake_openai(),
    "openai": fake_openai(),
    "anthropic": fake_anthropic(),
}
KINDS = [*FAKES]
ASK = Request(model="tiny", messages=[Message("user", "hello")])


@asynccontextmanager
async def connected(spec: ProviderSpec) -> AsyncIterator[ProviderAdapter]:
    provider = create_provider(spec)
    assert isinstance(provider, SupportsDispose)
    try:
        yield provider
    finally:
        await provider.dispose()


async def ask(spec: ProviderSpec, request: Request = ASK) -> list[ProviderEvent]:
    async with connected(spec) as provider, provider.chat_stream(request) as stream:
        return [event async for event in stream]


async def error_of(spec: ProviderSpec, request: Request = ASK) -> AIError:
    (event,) = await ask(spec, request)
    assert isinstance(event, ErrorEvent)
    assert event.error.provider == spec.name
    return event.error


def spec_for(url: str, kind: str = "ollama", **more: object) -> ProviderSpec:
    return ProviderSpec(name="p", kind=kind, base_url=url, **more)  # type: ignore[arg-type]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def raw_server_error(answer: bytes) -> AIError:
    """Ask a server that answers any request with these bytes and closes."""

    async def connection(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connection)
        port = listener.extra(SocketAttribute.local_port)
        error = await error_of(spec_for(f"http://127.0.0.1:{port}"))
        group.cancel_scope.cancel()
    return error


async def test_nobody_listening_is_told_with_the_way_to_start_one() -> None:
    port = closed_port()
    error = await error_of(spec_for(f"127.0.0.1:{port}"))
    assert error.message == f"p does not answer at localhost:{port}."
    assert error.hint == "Start it with `ollama serve`, or choose another server with --host."
    assert (error.code, error.retryable) == (ErrorCode.SERVICE_UNAVAILABLE, True)
    named = await error_of(spec_for(f"127.0.0.1:{port}", "openai-compatible", label="My box"))
    assert named.message == f"My box does not answer at localhost:{port}."


async def test_a_name_that_does_not_exist_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_something_that_speaks_no_http_is_told_as_such() -> None:
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


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "server.pem"
    command = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext"
    subprocess.run(
        [
            *("openssl", *command.split(), "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(path.with_suffix(".key")), "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    return path


async def test_an_unknown_certificate_is_refused_and_a_named_authority_is_trusted(
    certificate: Path,
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))

    async def connection(stream: ByteStream) -> None:
        async with stream:
            await stream.receive()
            line = b'{"message":{"content":"ok"},"done":true,"done_reason":"stop"}\n'
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(line) + line)

    tcp = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with (
        TLSListener(tcp, context, standard_compatible=False) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, connection)
        port = tcp.extra(SocketAttribute.local_port)
        url = f"https://127.0.0.1:{port}"
        error = await error_of(spec_for(url))
        events = await ask(spec_for(url, ca_file=certificate))
        plain = await error_of(spec_for(f"http://127.0.0.1:{port}"))
        group.cancel_scope.cancel()
    assert re.search(
        r"No secure connection to localhost:\d+: self.signed certificate", error.message
    )
    assert "ca_file" in (error.hint or "")
    assert events[0] == TextDelta("ok")
    assert plain.code == ErrorCode.SERVICE_UNAVAILABLE


async def test_tls_spoken_to_a_plain_server_is_told_with_the_way_out() -> None:
    async with serve(fake_ollama) as server:
        error = await error_of(spec_for(server.url.replace("http:", "https:")))
    assert "No secure connection" in error.message
    assert "http://" in (error.hint or "")


def test_an_authority_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async def run() -> AIError:
        return await error_of(spec_for("https://127.0.0.1:1", ca_file=tmp_path / "no.pem"))

    assert "no.pem" in anyio.run(run).message


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_never_follows_a_redirect(kind: str) -> None:
    async def elsewhere(request: Received, reply: Reply) -> None:
        await reply.json({})

    async with serve(elsewhere) as thief:

        async def sends_away(request: Received, reply: Reply) -> None:
            await reply.whole(b"", 307, headers={"location": f"{thief.url}/steal"})

        async with serve(sends_away) as server:
            error = await error_of(spec_for(server.url, kind, api_key=CANARY))
            async with connected(spec_for(server.url, kind, api_key=CANARY)) as provider:
                assert isinstance(provider, SupportsList)
                with suppress(AIError):
                    assert await provider.list_models() == []
                if isinstance(provider, SupportsTokenCount):
                    with pytest.raises(AIError, match="/steal"):
                        await provider.count_tokens(ASK)
    assert "/steal" in error.message
    assert thief.received == []
    assert all(key_sent(request) == CANARY for request in server.received)


def key_sent(request: Received) -> str | None:
    headers = request.headers
    return headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("kind", KINDS)
async def test_this_machine_is_never_asked_through_a_proxy(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = FAKES[kind]
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    async with serve(handler) as server:
        events = await ask(spec_for(server.url, kind))
    assert isinstance(events[-1], Finish)


async def test_other_machines_are_asked_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve(fake_ollama) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await ask(spec_for("http://models.example:8080"))
    assert proxy.received[0].path == "http://models.example:8080/api/chat"


@pytest.mark.parametrize("kind", KINDS)
async def test_keys_show_in_no_message_repr_or_log(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def echoes(request: Received, reply: Reply) -> None:
        reason = f"bad key: {key_sent(request)}"
        await reply.json({"error": {"message": reason}}, 401)

    caplog.set_level(logging.DEBUG)
    async with serve(echoes) as server:
        spec = spec_for(server.url, kind, api_key=CANARY, headers={"x-other": CANARY + "9"})
        error = await error_of(spec)
        refused = await error_of(spec_for(f"http://me:{CANARY}@127.0.0.1:1", kind))
    in_address = replace(spec, base_url=f"http://me:{CANARY}@127.0.0.1:1")
    shown = f"{spec!r} {in_address!r} {error} {error!r} {error.details} {refused} {refused!r}"
    shown += caplog.text
    assert "canary" not in shown
    assert server.received[0].headers["x-other"] == CANARY + "9"


async def test_a_name_and_password_in_the_address_are_sent_as_they_are_meant() -> None:
    async with serve(fake_ollama) as server:
        await ask(spec_for(server.url.replace("://", "://m%40e:p%3Aw@"), "ollama"))
    sent = server.received[0].headers["authorization"].removeprefix("Basic ")
    assert base64.b64decode(sent) == b"m@e:p:w"


@pytest.mark.parametrize("key", ["sk-\nX-Evil: 1", "schlüssel", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(AIError) as caught:
        create_provider(spec_for("http://x.example", api_key=key))
    assert key not in str(caught.value)


async def test_lm_studio_gets_its_key_twice_and_others_once() -> None:
    async with serve(fake_openai()) as server:
        await ask(spec_for(server.url, "openai-compatible", api_key="k1", backend="lmstudio"))
        await ask(spec_for(server.url, "openai-compatible", api_key="k1"))
        await ask(spec_for(server.url, "openai-compatible"))
    first, second, third = (request.headers for request in server.received)
    assert (first["authorization"], first["x-api-key"]) == ("Bearer k1", "k1")
    assert (second["authorization"], second.get("x-api-key")) == ("Bearer k1", None)
    assert third.get("authorization") is None
    assert first["accept-encoding"] == "identity"


async def test_an_encoded_answer_is_decoded_although_none_was_asked_for() -> None:
    lines = b'{"message":{"content":"ok"},"done":true,"done_reason":"stop"}\n'

    async def encodes(request: Received, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson", headers={"content-encoding": "gzip"})
        for byte in gzip.compress(lines):
            await reply.write(bytes([byte]))

    async with serve(encodes) as server:
        assert (await ask(spec_for(server.url)))[0] == TextDelta("ok")


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br"])
async def test_a_body_that_unpacks_without_end_is_stopped(encoding: str) -> None:
    bomb = gzip.compress(b"\n" * 30_000_000, 9) if encoding == "gzip" else b"x"

    async def sends_bomb(request: Received, reply: Reply) -> None:
        await reply.whole(bomb, headers={"content-encoding": encoding})

    async with serve(sends_bomb) as server:
        error = await error_of(spec_for(server.url))
    assert error.message.startswith("p broke a limit: its answer")


def test_unpacking_gives_pieces_of_bounded_size() -> None:
    text = b"a realistic line of text\n" * 40_000
    packed = gzip.compress(bytes(range(256)) * 20) + b""
    pieces = list(Inflater("gzip").feed(gzip.compress(text[:900_000])))
    assert b"".join(pieces) == text[:900_000]
    assert max(map(len, pieces)) <= 64 * 1024
    assert b"".join(Inflater("gzip").feed(packed)) == bytes(range(256)) * 20
    with pytest.raises(BadEncoding):
        list(Inflater("deflate").feed(b"not compressed"))


async def test_a_line_without_end_is_stopped_at_the_limit() -> None:
    async def endless(request: Received, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        while True:
            await reply.write(b"x" * 1_000_000)

    async with serve(endless) as server:
        error = await error_of(spec_for(server.url))
    assert "longer than" in error.message


async def test_bytes_that_drip_into_one_line_do_not_reset_the_clock() -> None:
    async def drips(request: Received, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        await reply.write(b'{"message":{"content":"a"},"done":false}\n')
        while True:
            await reply.write(b" ")
            await anyio.sleep(0.02)

    async with serve(drips) as server:
        with anyio.fail_after(3):
            events = await ask(spec_for(server.url, idle_timeout_s=0.2))
    assert events[0] == TextDelta("a")
    assert isinstance(events[-1], ErrorEvent)
    assert "sent nothing for 0.2 s" in events[-1].error.message


async def test_comments_keep_an_answer_alive_but_do_not_begin_one() -> None:
    async def pings(request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        if b"hello" in request.body:
            await reply.write(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
        for _ in range(20):
            await reply.write(b": ping\n\n")
            await anyio.sleep(0.02)
        await reply.write(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n')

    async with serve(pings) as server:
        spec = replace(
            spec_for(server.url, "openai-compatible"), idle_timeout_s=0.2, first_byte_timeout_s=0.2
        )
        alive = await ask(spec)
        error = await error_of(spec, Request(model="m", messages=[Message("user", "x")]))
    assert isinstance(alive[-1], Finish)
    assert error.message == "p sent no answer within 0.2 s."


async def test_a_field_that_the_server_refuses_is_left_out_where_nothing_is_lost() -> None:
    refuses = {
        "stream_options": "Unknown field: stream_options",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    }
    request = Request(
        model="tiny", messages=ASK.messages, options=GenerationOptions(max_tokens=9, top_k=3)
    )
    async with serve(fake_openai(refuses=refuses)) as server:
        events = await ask(spec_for(server.url, "openai-compatible"), request)
    assert isinstance(events[-1], Finish)
    bodies = [seen.json() for seen in server.received]
    assert [("stream_options" in b, "max_tokens" in b) for b in bodies] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert bodies[-1]["max_completion_tokens"] == 9
    assert bodies[-1]["top_k"] == 3


async def test_what_a_model_refused_once_is_not_sent_to_it_again() -> None:
    async with (
        serve(fake_openai(refuses={"stream_options": "no stream_options here"})) as server,
        connected(spec_for(server.url, "openai-compatible")) as provider,
    ):
        for _ in range(2):
            async with provider.chat_stream(ASK) as stream:
                assert isinstance([event async for event in stream][-1], Finish)
    assert ["stream_options" in seen.json() for seen in server.received] == [True, False, False]


async def test_a_wish_that_the_server_refuses_is_left_out_once_and_said() -> None:
    async with serve(fake_openai(refuses={"top_k": "Unknown parameter: 'top_k'"})) as server:
        options = GenerationOptions(top_k=3)
        request = Request(model="tiny", messages=ASK.messages, options=options)
        first, *_, last = await ask(spec_for(server.url, "openai-compatible"), request)
    assert isinstance(first, LeftOut)
    assert first.field == "top_k"
    assert "top_k" in first.error.message
    assert isinstance(last, Finish)
    assert ["top_k" in each.json() for each in server.received] == [True, False]


async def test_a_model_that_cannot_think_refuses_a_wish_to_and_takes_no_wish() -> None:
    async with serve(fake_ollama) as server:
        request = Request(model="tiny", messages=ASK.messages, should_think=True)
        error = await error_of(spec_for(server.url), request)
        events = await ask(spec_for(server.url))
    assert error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert isinstance(events[-1], Finish)
    assert "think" not in server.received[-1].json()


async def test_an_older_ollama_that_refuses_to_be_told_not_to_think_is_asked_again() -> None:
    async def old(request: Received, reply: Reply) -> None:
        if "think" in request.json():
            await reply.json({"error": '"m" does not support thinking'}, 400)
        else:
            await fake_ollama(request, reply)

    async with serve(old) as server:
        request = Request(model="tiny", messages=ASK.messages, should_think=False)
        events = await ask(spec_for(server.url), request)
    assert isinstance(events[-1], Finish)
    assert len(server.received) == 2


async def test_half_a_character_pair_is_repaired_before_it_is_sent() -> None:
    async with serve(fake_ollama) as server:
        request = Request(model="tiny", messages=[Message("user", "echo a\ud83dz")])
        events = await ask(spec_for(server.url), request)
    assert events[0] == TextDelta("a\ufffdz")


@pytest.mark.parametrize("text", ["plain ", '\u2014 \U0001f600 "', "\ud83d half", "\ud83d\ude00"])
async def test_a_large_request_arrives_whole(text: str) -> None:
    async with serve(fake_ollama) as server:
        request = Request(
            model="tiny",
            messages=[Message("user", f"{n} {text * 90_000}") for n in range(3)]
            + [Message("user", "hello")],
        )
        events = await ask(spec_for(server.url), request)
    assert isinstance(events[-1], Finish)
    (asked,) = [r for r in server.received if r.path == "/api/chat"]
    whole = (text * 90_000).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    messages = asked.json()["messages"]
    assert isinstance(messages, list)
    assert [m["content"] for m in messages[:3]] == [f"{n} {whole}" for n in range(3)]


async def test_other_tasks_run_while_a_large_request_is_made() -> None:
    turns, done = 0, False

    async def count_turns() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count_turns)
        await anyio.lowlevel.checkpoint()
        before = turns
        made = await encoded_body({"messages": ["x" * 100_000] * 100}, ENDPOINT)
        during, done = turns - before, True
    assert json.loads(made) == {"messages": ["x" * 100_000] * 100}
    assert during >= len(made) / 1_000_000


async def test_a_stop_while_a_large_request_is_made_sends_nothing() -> None:
    signal = AbortSignal()
    async with serve(fake_ollama) as server, connected(spec_for(server.url)) as provider:
        messages = [Message("user", "x" * 1_000_000)] * 20
        request = Request(model="tiny", messages=messages, signal=signal)
        async with anyio.create_task_group() as group, provider.chat_stream(request) as stream:

            async def stop() -> None:
                signal.abort()

            group.start_soon(stop)
            with anyio.fail_after(5):
                events = [event async for event in stream]
    assert [e.reason for e in events if isinstance(e, Finish)] == ["abort"]
    assert server.received == []


async def test_a_setting_that_cannot_be_used_is_told_where_it_is_used() -> None:
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
        error = await error_of(replace(spec_for(f"http://127.0.0.1:{port}"), connect_timeout_s=0.2))
        for one in waiting:
            one.close()
    assert "did not respond in time" in error.message
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)


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


async def test_a_body_that_takes_its_time_to_close_is_closed_although_all_is_cancelled() -> None:
    class Body(httpx.AsyncByteStream):
        is_closed = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"x"
            await anyio.sleep_forever()

        async def aclose(self) -> None:
            await anyio.lowlevel.checkpoint()
            self.is_closed = True

    body = Body()
    answer = httpx.MockTransport(lambda _request: httpx.Response(200, stream=body))
    async with httpx.AsyncClient(transport=answer) as client, anyio.create_task_group() as group:
        exchange = ResponseReader(client, client.build_request("GET", "http://x"), ENDPOINT)
        group.start_soon(exchange.run)
        await exchange.read_head()
        group.cancel_scope.cancel()
    exchange.dispose()
    assert body.is_closed


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
    async with serve(fake_openai()) as server:
        url = f"{server.url}/openai/deployments/gpt?api-version=2024-10-21"
        await ask(spec_for(url, "openai-compatible", headers={"api-key": CANARY}))
    assert server.received[0].path == (
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    )
