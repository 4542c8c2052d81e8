"""Thousands of damaged answers in every wire format: one end each, however the bytes are cut.

`MUTATED_STREAMS` in the environment sets how many; `make test-faults` takes 10,000.
"""

import os
import random
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import anyio
import pytest
from anyio.abc import SocketStream

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers import create_provider
from tests.contract.selection import remotes
from tests.providers.damage import CHANGING, KEEPING, damaged, in_chunks
from tests.providers.dialects import DIALECTS, INTACT
from tests.providers.further_decoders import FURTHER, KOBOLD, SCHEMA, further_recording
from tests.support.corpus import load_streams
from tests.support.cuts import cut_at, one_by_one
from tests.support.fakes import REMOTES, recording
from tests.support.frames import DECODERS, carried, frames_of, head
from tests.support.http_server import raw_server
from tests.support.seeds import chance_for

pytestmark = pytest.mark.slow

USUAL, MANY = 1_000, 10_000
OVER_SOCKETS = 60
MAX_GROWTH_KB = 50 * 1024
MANY_WITHIN_S = 60
PROMPTS = ("hello", "think", "tags", "tools", "ponder", "length", "fail", "markdown")
APIS = {"openai": "openai-compatible"}
CALLS = {dialect.kind: dialect for dialect in DIALECTS[:3]}
MAX_BYTEWISE_LENGTH = 3000


def decoded(kind: str, chunks: Sequence[bytes]) -> list[ProviderEvent]:
    decoder = (FURTHER[kind][1] if kind in FURTHER else DECODERS[kind])()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.finish()
    assert decoder.ended
    assert decoder.feed(b'{"done": true}\n\ndata: {}\n\n') == decoder.finish() == []
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert [events[-1]] == ends
    return events


def meaning(events: Sequence[ProviderEvent]) -> tuple[object, ...]:
    """What may not depend on where the bytes were cut; the ids that we make up do."""
    calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
    return (
        "".join(event.delta for event in events if isinstance(event, TextDelta)),
        [(e.delta, e.signature) for e in joined_thoughts(events)],
        [(call.name, call.args, call.raw_args, call.extra) for call in calls],
        events[-1],
    )


def joined_thoughts(events: Sequence[ProviderEvent]) -> list[ThinkingDelta]:
    found: list[ThinkingDelta] = []
    for event in events:
        if not isinstance(event, ThinkingDelta):
            continue
        if found and found[-1].signature is None and event.signature is None:
            found[-1] = ThinkingDelta(found[-1].delta + event.delta)
        else:
            found.append(event)
    return found


async def bodies(kind: str) -> list[list[bytes]]:
    """Give the frames of what the fakes stream, and of recorded answers where there are some."""
    if kind in FURTHER:
        recorded = [await further_recording(kind, prompt) for prompt in PROMPTS]
        return [frames_of(kind, body) for body in recorded]
    found = [await recording(kind, prompt) for prompt in PROMPTS]
    for stream in load_streams():
        if APIS.get(stream.api, stream.api) == kind and len(stream.decoded_body) < 6000:
            found.append(stream.decoded_body)
    return [frames for body in found if (frames := frames_of(kind, body))]


def check(kind: str, body: bytes, chance: random.Random) -> list[ProviderEvent]:
    events = decoded(kind, [body])
    whole = meaning(events)
    assert meaning(decoded(kind, in_chunks(body, chance))) == whole, body
    offsets = [chance.randrange(len(body) + 1) for _ in range(4)]
    assert meaning(decoded(kind, cut_at(body, offsets))) == whole, body
    if len(body) < MAX_BYTEWISE_LENGTH and chance.random() < 0.2:
        assert meaning(decoded(kind, one_by_one(body))) == whole, body
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            event.delta.encode()
        elif isinstance(event, ToolCallEvent):
            assert event.call.id
            assert event.call.args is None or isinstance(event.call.args, dict)
            event.call.raw_args.encode()
        elif isinstance(event, ErrorEvent):
            assert event.error.message.strip()
            event.error.message.encode()
    return events


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", [*DECODERS, *FURTHER])
@pytest.mark.parametrize("count", [USUAL, pytest.param(MANY, marks=pytest.mark.slow)])
async def test_a_damaged_answer_has_one_end_however_it_is_cut(kind: str, count: int) -> None:
    chance, recorded = chance_for(20_263), await bodies(kind)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + MAX_GROWTH_KB
    began, ends = time.monotonic(), dict[str, int]()
    each = int(os.environ.get("MUTATED_STREAMS", count)) // (2 * len(DECODERS))
    for _ in range(each):
        frames = chance.choice(recorded)
        if chance.random() < 0.1:  # another answer's end after this one's beginning
            frames = [*frames[: chance.randrange(len(frames))], *chance.choice(recorded)]
        events = check(kind, damaged(frames, (*KEEPING, *CHANGING), chance), chance)
        end = type(events[-1]).__name__
        ends[end] = ends.get(end, 0) + 1
    sys.stdout.write(f"{kind}: {ends} in {time.monotonic() - began:.1f} s\n")
    assert len(ends) == 2, "all of them ended in one way: nothing was proven"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= most
    assert time.monotonic() - began < MANY_WITHIN_S


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("count", [USUAL, pytest.param(MANY, marks=pytest.mark.slow)])
def test_no_call_is_offered_that_was_not_whole_in_what_was_sent(kind: str, count: int) -> None:
    chance, dialect = chance_for(20_264), CALLS[kind]
    offered = 0
    for _ in range(int(os.environ.get("MUTATED_STREAMS", count)) // (2 * len(CALLS))):
        body = damaged(dialect.frames, KEEPING, chance)
        events = check(kind, body, chance)
        calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
        runnable = [call for call in calls if is_runnable(call)]
        for call in runnable:
            assert INTACT.get(call.name) == call.args, body
        assert not calls or isinstance(events[-1], Finish)
        offered += len(runnable)
    assert offered, "no answer was left whole enough to prove anything"


def is_runnable(call: ToolCall) -> bool:
    """Whether a runner takes the call: it names a tool and has all that the tool requires.

    The frames of one argument can be lost without a trace, and those of all of them.
    """
    return call.args is not None and INTACT.get(call.name, {"": None}).keys() <= call.args.keys()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", remotes(often=["kobold"]))
async def test_damaged_answers_over_real_connections_end_once_and_leave_nothing(kind: str) -> None:
    chance, recorded = chance_for(20_265), await bodies(kind)
    answers: list[list[bytes]] = []
    open_connections = 0

    async def connection(stream: SocketStream) -> None:
        nonlocal open_connections
        open_connections += 1
        try:
            async with stream:
                await stream.receive()
                with suppress(anyio.BrokenResourceError):
                    for piece in answers[-1]:
                        await stream.send(piece)
                        await anyio.lowlevel.checkpoint()
                    await stream.send_eof()
                with suppress(anyio.BrokenResourceError):
                    async for _ in stream:
                        pass
        finally:
            open_connections -= 1

    async with raw_server(connection) as port:
        for _ in range(OVER_SOCKETS):
            body = damaged(chance.choice(recorded), (*KEEPING, *CHANGING), chance)
            start = head(kind)
            if chance.random() < 0.3:
                start = damaged([start], (CHANGING[-1],), chance)
            answers.append(in_chunks(start + body, chance))
            events = await asked(kind, f"http://127.0.0.1:{port}")
            ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
            assert [events[-1]] == ends, answers[-1]
            with anyio.fail_after(5):
                while open_connections:
                    await anyio.sleep(0)


async def asked(kind: str, url: str) -> list[ProviderEvent]:
    spec = REMOTES[kind].spec(url, first_byte_timeout_s=0.5, idle_timeout_s=0.2)
    provider = create_provider(spec)
    request = Request(model="tiny", messages=[Message("user", "hello")])
    try:
        with anyio.fail_after(5):
            async with provider.chat_stream(request) as stream:
                events = [event async for event in stream]
                assert [event async for event in stream] == []
    finally:
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    return events


async def test_an_answer_by_a_schema_is_the_arguments_of_its_call() -> None:
    events = decoded(SCHEMA, [await further_recording(SCHEMA, "tools")])
    assert meaning(events)[0] == '{"city": "Oslo"}'


async def test_koboldcpps_length_is_a_stop_sequence_where_less_than_allowed_was_written() -> None:
    end = decoded(KOBOLD, [await further_recording(KOBOLD, "length")])[-1]
    assert isinstance(end, Finish)
    assert end.reason == "stop"


async def test_the_recordings_are_what_the_servers_stream() -> None:
    """The damage would prove little if the frames were not found."""
    for kind in DECODERS:
        frames = frames_of(kind, await recording(kind, "tools"))
        assert len([frame for frame in frames if isinstance(carried(frame), dict)]) >= 4
        events = decoded(kind, frames)
        calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
        assert [call.args for call in calls] == [{"city": "Oslo"}, {}]
