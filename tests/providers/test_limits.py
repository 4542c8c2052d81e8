"""What a server may send at most, and what is kept of an answer that is refused or breaks off."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_guard import MAX_CONTAINERS, MAX_VALUES, JsonCrowd, parse_json
from ollm_tui.decode.tool_calls import MAX_CALL_BYTES, MAX_CALLS, ToolCallAssembler
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose, SupportsList
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.body.error_body import read_error_body
from ollm_tui.providers.response_reader import AT_ONCE_BYTES, PIECE_BYTES, ResponseReader
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fakes import FAKES
from tests.support.frames import ENDPOINT, call_frame, frame, text_frame
from tests.support.guarded.fair_clock import sleep
from tests.support.http_server import Handler, Received, Reply, serve
from tests.support.tools import feed_one

KINDS = [*FAKES]
ASK = Request(model="tiny", messages=[Message("user", "hello")])


@asynccontextmanager
async def asking(
    kind: str, handler: Handler, *, idle_timeout_s: float = 60, list_timeout_s: float = 5
) -> AsyncIterator[ProviderAdapter]:
    """Give a provider of this kind whose server answers so."""
    async with serve(handler) as server:
        spec = ProviderSpec(
            name="p",
            kind=kind,
            base_url=server.url,
            idle_timeout_s=idle_timeout_s,
            list_timeout_s=list_timeout_s,
        )
        provider = create_provider(spec)
        try:
            yield provider
        finally:
            assert isinstance(provider, SupportsDispose)
            await provider.dispose()
        await server.settled()


async def events_of(provider: ProviderAdapter) -> list[ProviderEvent]:
    async with provider.chat_stream(ASK) as stream:
        return [event async for event in stream]


def error_in(events: Sequence[ProviderEvent]) -> AIError:
    end = events[-1]
    assert isinstance(end, ErrorEvent)
    return end.error


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_in_an_unknown_encoding_keeps_its_status(kind: str) -> None:
    async def refuses(request: Received, reply: Reply) -> None:
        await reply.whole(b"\x1b\x00", 401, headers={"content-encoding": "br"})

    async with asking(kind, refuses) as provider:
        error = error_in(await events_of(provider))
    assert (error.status, error.code) == (401, ErrorCode.AUTH_FAILED)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_whose_connection_breaks_keeps_its_status(kind: str) -> None:
    async def refuses(request: Received, reply: Reply) -> None:
        await reply.start(503, headers={"retry-after": "7"})
        reply.cut()

    async with asking(kind, refuses) as provider:
        error = error_in(await events_of(provider))
        assert isinstance(provider, SupportsList)
    assert (error.status, error.retryable) == (503, True)
    assert error.details["retry_after_s"] == 7


@pytest.mark.parametrize("kind", KINDS)
async def test_the_words_of_a_refusal_without_end_are_reported(kind: str) -> None:
    async def refuses(request: Received, reply: Reply) -> None:
        await reply.start(429)
        await reply.write(b'{"error": {"message": "Slow down, \\"tiny\\" is busy.')
        await anyio.sleep_forever()

    async with asking(kind, refuses, list_timeout_s=0.6) as provider:
        error = error_in(await events_of(provider))
        assert isinstance(provider, SupportsList)
        try:
            assert await provider.list_models() == []
            refused = getattr(provider, "last_error", None)
        except AIError as raised:
            refused = raised
    assert error.message == 'HTTP 429 Too Many Requests: Slow down, "tiny" is busy. …'
    assert isinstance(refused, AIError)
    assert refused.message == error.message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"code": 5, "message": "out of memory', "out of memory"),
        (b'{"error": "no room \\u00e4\\u00', "no room \u00e4"),
        (b'[{"detail": "half a sen\\', "half a sen"),
        (b'{"error": {"message": "done"}, "more": [1, ', "done"),
        (b'{"error": {"code": 5', None),
        (b'{"message": "', None),
    ],
)
def test_the_words_of_an_error_that_was_cut_are_found(body: bytes, reason: str | None) -> None:
    assert read_error_body(body).message == reason


@pytest.mark.parametrize("kind", KINDS)
async def test_a_reader_who_was_away_does_not_take_what_came_meanwhile_for_silence(
    kind: str,
) -> None:
    sent = anyio.Event()

    async def answers(request: Received, reply: Reply) -> None:
        media = "application/x-ndjson" if kind == "ollama" else "text/event-stream"
        await reply.start(content_type=media)
        await reply.write(text_frame(kind, "It was "))
        await anyio.sleep(0.03)  # so that both come apart
        await reply.write(text_frame(kind, "a dark"))
        sent.set()
        await anyio.sleep_forever()

    events: list[ProviderEvent] = []
    async with (
        asking(kind, answers, idle_timeout_s=0.1) as provider,
        provider.chat_stream(ASK) as stream,
    ):
        events.append(await anext(stream))
        await sent.wait()
        sleep(0.15)  # as a stopped process does
        events += [event async for event in stream]
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == "It was a dark"
    assert error_in(events).code == ErrorCode.TIMEOUT


async def test_what_is_given_at_once_to_be_decoded_is_bounded() -> None:
    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b"x" * 60_000

    answer = httpx.MockTransport(lambda _request: httpx.Response(200, stream=Body()))
    sizes = []
    async with httpx.AsyncClient(transport=answer) as client, anyio.create_task_group() as group:
        exchange = ResponseReader(client, client.build_request("GET", "http://x"), ENDPOINT)
        group.start_soon(exchange.run)
        await exchange.read_head()
        while piece := await exchange.read():
            sizes.append(len(piece))
    exchange.dispose()
    assert sum(sizes) == 40 * 60_000
    assert max(sizes) < AT_ONCE_BYTES + PIECE_BYTES


async def test_a_time_limit_between_two_reads_loses_nothing() -> None:
    body = bytes(range(256)) * 512

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield body

    answer = httpx.MockTransport(lambda _request: httpx.Response(200, stream=Body()))
    received, was_late = b"", False
    async with httpx.AsyncClient(transport=answer) as client, anyio.create_task_group() as group:
        exchange = ResponseReader(client, client.build_request("GET", "http://x"), ENDPOINT)
        group.start_soon(exchange.run)
        await exchange.finished.wait()
        await exchange.read_head()
        is_whole = False
        while not is_whole:
            with anyio.CancelScope() as limit:
                limit.cancel()
                received += await exchange.read()
            was_late |= limit.cancelled_caught
            received += (piece := await exchange.read())
            is_whole = not piece
    exchange.dispose()
    assert was_late
    assert received == body


@pytest.mark.parametrize("text", ["{}", "[]", '{"a":{}}'])
def test_json_of_too_many_objects_is_refused_before_it_is_made(text: str) -> None:
    fits = MAX_CONTAINERS // (text.count("{") + text.count("[")) - 1
    assert isinstance(parse_json(f"[{','.join([text] * fits)}]"), list)
    with pytest.raises(JsonCrowd, match="100000 objects"):
        parse_json(f"[{','.join([text] * (fits + 2))}]")
    with pytest.raises(JsonCrowd):
        parse_json(f"[{'1,' * MAX_VALUES}1]")


def test_signs_inside_texts_are_no_objects() -> None:
    text = '{"a": [' * MAX_CONTAINERS + '\\" ' + ", " * MAX_VALUES
    assert parse_json(json.dumps([text])) == [text]


def test_calls_have_a_limit_in_number_and_in_size() -> None:
    calls = ToolCallAssembler()
    for number in range(MAX_CALLS):
        feed_one(calls, number, f"c{number}", "f", "{}")
    assert len(calls.finish()) == MAX_CALLS
    with pytest.raises(LimitPassed, match=f"more than {MAX_CALLS} tool calls"):
        feed_one(calls, MAX_CALLS, "more", "f", "{}")
    large = ToolCallAssembler()
    feed_one(large, 0, "c", "f", '{"text": "')
    with pytest.raises(LimitPassed, match=f"larger than {MAX_CALL_BYTES} bytes"):
        for _ in range(MAX_CALL_BYTES // 1_000_000 + 1):
            feed_one(large, 0, None, None, "x" * 1_000_000)
    small = ToolCallAssembler()
    feed_one(small, 0, "c", "f", '{"text": "')
    for _ in range(100_000):
        feed_one(small, 0, None, None, "x")
    feed_one(small, 0, None, None, '"}')
    assert small.finish()[0].args == {"text": "x" * 100_000}
    with pytest.raises(LimitPassed):
        for number in range(MAX_CALL_BYTES // 1_000_000 + 1):
            feed_one(small, 0, None, None, "", {str(number): "x" * 1_000_000})


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_of_too_many_calls_keeps_its_text_and_runs_none(kind: str) -> None:
    async def answers(request: Received, reply: Reply) -> None:
        await reply.start()
        body = (call_frame(kind, number, {"city": "Oslo"}) for number in range(1, MAX_CALLS + 2))
        await reply.write(text_frame(kind, "Looking.") + b"".join(body))

    async with asking(kind, answers) as provider:
        text, end = await events_of(provider)
    assert text == TextDelta("Looking.")
    assert f"more than {MAX_CALLS} tool calls" in error_in([end]).message


async def test_calls_that_begin_with_their_arguments_are_measured_too() -> None:
    async def answers(request: Received, reply: Reply) -> None:
        await reply.start()
        for number in range(MAX_CALL_BYTES // 1_000_000 + 1):
            await reply.write(call_frame("anthropic", number, {"city": "x" * 1_000_000}))

    async with asking("anthropic", answers) as provider:
        (end,) = await events_of(provider)
    assert "tool calls larger than" in error_in([end]).message


async def test_counts_that_grow_without_end_are_left_out() -> None:
    async def answers(request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(text_frame("anthropic", "x"))
        for number in range(40):
            usage = {
                "input_tokens": 7,
                "output_tokens": number,
                f"k{number}": "x" * 1000,
            }
            event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
            await reply.write(frame("anthropic", {**event, "usage": usage}))
        await reply.write(frame("anthropic", {"type": "message_stop"}))

    async with asking("anthropic", answers) as provider:
        end = (await events_of(provider))[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert end.usage.prompt_tokens == 7
    assert len(json.dumps(dict(end.usage.extra))) < 17_000
