"""Answers over TLS: each record of them is read with the others that have come."""

from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.tls import TLSStream

from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import read_coalescer
from ollm_tui.providers.watched_stream import WatchedStream
from tests.providers.asking import ASK, ask, connected, spec_for
from tests.providers.certificates import make_authority
from tests.support.http_server import Received, Reply, raw_server, serve

WORDS = [f"word {number}, " for number in range(60)]


def line(text: str, *, is_last: bool = False) -> bytes:
    end = b'true,"done_reason":"stop"' if is_last else b"false"
    return b'{"message":{"content":"%s"},"done":%s}\n' % (text.encode(), end)


async def answer(_request: Received, reply: Reply) -> None:
    """Send each word in a record of its own."""
    await reply.start(content_type="application/x-ndjson")
    for word in WORDS:
        await reply.write(line(word))
        await anyio.lowlevel.checkpoint()
    await reply.write(line("", is_last=True))


async def endless(_request: Received, reply: Reply) -> None:
    await reply.start(content_type="application/x-ndjson")
    while True:
        await reply.write(line("more "))
        await anyio.sleep(0.001)


def text_of(events: list[ProviderEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


class Reads:
    """Counts the reads of a connection's stream."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._read = WatchedStream.read
        reads = self

        async def read(
            stream: WatchedStream, max_bytes: int, timeout: float | None = None
        ) -> bytes:
            reads.count += 1
            return await reads._read(stream, max_bytes, timeout)

        monkeypatch.setattr(WatchedStream, "read", read)


@pytest.mark.parametrize("looks", [True, False], ids=["read past the loop", "read by the loop"])
async def test_an_answer_in_many_records_comes_whole_and_in_few_reads(
    looks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, reads = make_authority(tmp_path), Reads(monkeypatch)
    if not looks:
        monkeypatch.setattr(read_coalescer, "_idle_transport", lambda _stream: None)
    async with serve(answer, tls=authority.server("127.0.0.1")) as server:
        events = await ask(spec_for(server.url, ca_file=authority.file))
    assert text_of(events) == "".join(WORDS)
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "stop"
    assert reads.count < len(WORDS) / 2


async def test_an_answer_with_a_record_that_was_changed_is_an_error(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\r\n"

    async def changed(stream: TLSStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(head + line("first"))
            await stream.transport_stream.send(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            await anyio.sleep_forever()

    async with raw_server(changed, tls=authority.server("127.0.0.1")) as port:
        url = f"https://127.0.0.1:{port}"
        with anyio.fail_after(10):
            events = await ask(spec_for(url, ca_file=authority.file))
    assert text_of(events) == "first"
    assert isinstance(events[-1], ErrorEvent)


async def test_a_stopped_answer_over_tls_ends_for_its_server(tmp_path: Path) -> None:
    authority, signal = make_authority(tmp_path), AbortSignal()
    async with serve(endless, tls=authority.server("127.0.0.1")) as server:
        spec, events = spec_for(server.url, ca_file=authority.file), list[ProviderEvent]()
        async with (
            connected(spec) as provider,
            provider.chat_stream(replace(ASK, signal=signal)) as stream,
        ):
            async for event in stream:
                events.append(event)
                if len(text_of(events)) > 100:
                    signal.abort()
        await server.settled()
        assert len(server.disconnects) == 1
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "abort"
