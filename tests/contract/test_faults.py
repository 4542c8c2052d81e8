"""Answers that stand still, drip, or are reset at any of their frames, for every provider.

After each, exactly one end was given, what came before it is kept, and the connection is closed.
"""

import re
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from tests.contract.observe import ends_of, no_task_left, tasks
from tests.contract.selection import remotes_with
from tests.providers.answers import text_of, thinking_of
from tests.support.fakes import REMOTES, recording
from tests.support.frames import DECODERS, frames_of, head
from tests.support.http_server import raw_server

FIRST_BYTE_S, IDLE_S, LONG_S = 0.6, 0.3, 30.0
RESET = struct.pack("ii", 1, 0)
DRIP_S = 0.01
STOP = b"POST /api/extra/abort"
NEVER = "a frame that never ends: " + "x" * 10_000
GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
OUTPUT = TextDelta | ThinkingDelta | ToolCallEvent


@dataclass
class Faulty:
    """A server that sends as many of its frames as the name of the model says, and misbehaves."""

    url: str = ""
    frames: Sequence[bytes] = ()
    fault: str = "stall"
    open: int = 0
    left: int = 0
    """Clients that closed first, of those that were being sent an answer."""

    async def connection(self, stream: SocketStream) -> None:
        self.open += 1
        try:
            async with stream, anyio.create_task_group() as group:
                count = await self._wanted(stream)
                if count is None:
                    return
                with suppress(*GONE):
                    await stream.send(head("") + b"".join(self.frames[:count]))
                    if self.fault == "reset":
                        raw = stream.extra(SocketAttribute.raw_socket)
                        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                        return
                    if self.fault != "stall":
                        group.start_soon(self._drip, stream)
                    while True:
                        await stream.receive()
                self.left += 1
                group.cancel_scope.cancel()
        finally:
            self.open -= 1

    async def _wanted(self, stream: SocketStream) -> int | None:
        """Tell how many frames are asked for.

        `None`: KoboldCpp was told to stop what it may still be writing, or somebody hung up before
        asking, as a stop does whose own short time is over.
        """
        request = b""
        with suppress(*GONE):
            while (named := re.search(rb'"model": ?"m(\d+)"', request)) is None:
                request += await stream.receive()
                if STOP in request:
                    await stream.send(head("", "content-length: 2") + b"{}")
                    return None
            return int(named[1])
        return None

    async def _drip(self, stream: SocketStream) -> None:
        """Send what is no progress: the bytes of one long line, or blank lines."""
        with suppress(*GONE):
            for sign in NEVER if self.fault == "drip" else "\n" * len(NEVER):
                await stream.send(sign.encode())
                await anyio.sleep(DRIP_S)

    async def settled(self) -> None:
        with anyio.fail_after(5):
            while self.open:
                await anyio.sleep(0.001)


@asynccontextmanager
async def faulty(
    kind: str, first_byte_s: float = LONG_S
) -> AsyncIterator[tuple[ProviderAdapter, Faulty]]:
    server = Faulty()
    async with raw_server(server.connection) as port:
        server.url = f"http://127.0.0.1:{port}"
        provider = create_provider(
            REMOTES[kind].spec(server.url, first_byte_timeout_s=first_byte_s, idle_timeout_s=IDLE_S)
        )
        yield provider, server
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


async def ask(
    provider: ProviderAdapter, count: int, signal: AbortSignal | None = None
) -> list[ProviderEvent]:
    request = Request(model=f"m{count}", messages=[Message("user", "hello")], signal=signal)
    with anyio.fail_after(10):
        async with provider.chat_stream(request) as stream:
            events = [event async for event in stream]
            assert [event async for event in stream] == []
    assert ends_of(events) == [events[-1]]
    return events


def events_before(kind: str, frames: Sequence[bytes]) -> list[ProviderEvent]:
    return DECODERS[REMOTES[kind].wire]().feed(b"".join(frames))


CODES = {
    "stall": ErrorCode.TIMEOUT,
    "drip": ErrorCode.TIMEOUT,
    "blank drip": ErrorCode.TIMEOUT,
    "reset": ErrorCode.STREAM_INCOMPLETE,
}


MET = {f"{fault} in tools": (fault, "tools") for fault in CODES}
MET |= {f"{fault} in thoughts": (fault, "think") for fault in ("stall", "reset")}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "met"), remotes_with(MET, ["reset in thoughts"], DECODERS))
async def test_a_fault_after_any_frame_is_reported_and_what_came_is_kept(
    kind: str, met: str
) -> None:
    fault, prompt = MET[met]
    frames = frames_of(kind, await recording(kind, prompt))
    before = tasks()
    unended = [n for n in range(len(frames) + 1) if not ends_of(events_before(kind, frames[:n]))]
    assert len(unended) >= 4
    mute = [n for n in unended if not has_output(events_before(kind, frames[:n]))]
    for counts, first_byte_s in ((mute, FIRST_BYTE_S), (unended[len(mute) :], LONG_S)):
        async with faulty(kind, first_byte_s) as (provider, server):
            server.frames, server.fault = frames, fault

            async def meet(count: int, provider: ProviderAdapter = provider) -> None:
                events = await ask(provider, count)
                if isinstance(events[-1], ErrorEvent):
                    check(events, events_before(kind, frames[:count]), fault)
                else:  # the reason had come, and then the end of the body
                    assert fault == "reset"
                    assert count >= len(frames) - 3

            async with anyio.create_task_group() as group:
                for count in counts:
                    group.start_soon(meet, count)
            await server.settled()
            assert server.left == (0 if fault == "reset" else len(counts))
    await no_task_left(before)


def has_output(events: Sequence[ProviderEvent]) -> bool:
    return any(isinstance(event, OUTPUT) for event in events)


def check(events: list[ProviderEvent], came: list[ProviderEvent], fault: str) -> None:
    end = events[-1]
    assert isinstance(end, ErrorEvent)
    assert not any(isinstance(event, ToolCallEvent) for event in events)
    if fault == "reset":  # what is on its way is lost with the connection
        assert text_of(came).startswith(text_of(events))
        assert end.error.code in (ErrorCode.STREAM_INCOMPLETE, ErrorCode.SERVICE_UNAVAILABLE)
        return
    assert (text_of(events), thinking_of(events)) == (text_of(came), thinking_of(came))
    assert end.error.code == CODES[fault]
    seconds = IDLE_S if has_output(came) else FIRST_BYTE_S
    assert f"{seconds:g} s" in end.error.message
    assert end.error.hint


@pytest.mark.parametrize(
    ("kind", "fault"), remotes_with(["stall", "drip", "blank drip"], kinds=DECODERS)
)
async def test_a_stop_is_noticed_in_a_fault_after_any_frame(kind: str, fault: str) -> None:
    frames = frames_of(kind, await recording(kind, "think"))
    async with faulty(kind) as (provider, server):
        for count in range(len(frames) - 2):
            server.frames, server.fault = frames, fault
            signal = AbortSignal()
            events = list[ProviderEvent]()

            async def stop(signal: AbortSignal = signal) -> None:
                while not server.open:
                    await anyio.sleep(0)
                signal.abort()

            async with anyio.create_task_group() as group:
                group.start_soon(stop)
                events += await ask(provider, count, signal)
            assert isinstance(events[-1], Finish)
            assert events[-1].reason == "abort"
            await server.settled()
