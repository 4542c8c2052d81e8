"""Bodies of requests and answers: encoded, endless, dripping, and large."""

import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import anyio.lowlevel
import httpx
import pytest

from ollm_tui.decode.json_guard import SLICE
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.body.content import encoded_body
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.response_reader import BadEncoding, Inflater, ResponseReader
from tests.providers.asking import ask, connected, error_of, spec_for
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Received, Reply, serve

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")


async def test_an_encoded_answer_is_decoded_although_none_was_asked_for() -> None:
    lines = b'{"message":{"content":"ok"},"done":true,"done_reason":"stop"}\n'

    async def encodes(request: Received, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson", headers={"content-encoding": "gzip"})
        for byte in gzip.compress(lines):
            await reply.write(bytes([byte]))

    async with serve(encodes) as server:
        assert (await ask(spec_for(server.url)))[0] == TextDelta("ok")


@pytest.mark.slow
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
    pieces = [piece async for piece in made]
    assert json.loads(b"".join(pieces)) == {"messages": ["x" * 100_000] * 100}
    assert max(map(len, pieces)) < 2 * SLICE
    assert [piece async for piece in made] == pieces, "a request may be sent again"
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
