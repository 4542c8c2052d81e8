"""An answer that is cut at any byte is told to be cut; what came before is kept, and no call runs.

Three recordings of every wire format are cut at every byte in the decoder, and over real
connections at some bytes, or at every one in the slow tests. So are recorded answers of real
servers where there are some.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

import anyio
import pytest
from anyio.abc import SocketStream

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
from ollm_tui.providers import create_provider
from tests.contract.selection import remotes_with
from tests.support.corpus import RecordedStream, load_streams, needs_corpus
from tests.support.fakes import REMOTES, recording
from tests.support.frames import DECODERS, frames_of, head
from tests.support.http_server import raw_server
from tests.support.seeds import chance_for

PROMPTS = ("think", "tools", "unicode")
APIS = {"openai-compatible": "openai"}
SAMPLES = 10
STRIDE = 7
"""Of two of the answers each backend takes every seventh byte, beginning at another one."""
MAX_LENGTH = 9000
KINDS = [*DECODERS]
BACKENDS = [name for name in REMOTES if name not in KINDS]
STOP = b"/api/extra/abort"
Outcome = tuple[str, str]


def outcome_of(events: Sequence[ProviderEvent]) -> Outcome:
    return (
        "".join(event.delta for event in events if isinstance(event, TextDelta)),
        "".join(event.delta for event in events if isinstance(event, ThinkingDelta)),
    )


def decoded(kind: str, body: bytes, *, to_end: bool = True) -> list[ProviderEvent]:
    decoder = DECODERS[REMOTES[kind].wire]()
    events = decoder.feed(body)
    return events + decoder.finish() if to_end else events


def check(
    is_whole: bool, events: Sequence[ProviderEvent], at: int, *, least: Outcome, whole: Outcome
) -> None:
    """Check what came of the first `at` bytes; `least` is what their whole frames say."""
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert [events[-1]] == ends
    text, thinking = outcome_of(events)
    assert whole[0].startswith(text.removesuffix("\ufffd")), at
    assert whole[1].startswith(thinking.removesuffix("\ufffd")), at
    assert text.startswith(least[0]), at
    assert thinking.startswith(least[1]), at
    if isinstance(ends[0], Finish):
        assert is_whole, f"cut at {at} and taken for an end"
        return
    assert not any(isinstance(event, ToolCallEvent) for event in events)
    something_came = bool(least[0] or least[1])
    assert ends[0].error.code == ErrorCode.STREAM_INCOMPLETE or not something_came, at
    assert not ends[0].error.retryable or not something_came


def is_ended(kind: str, body: bytes, at: int) -> bool:
    """Whether the first `at` bytes hold the format's own end, told by its marks alone."""
    mark = {"ollama": rb'"done": ?true', "anthropic": rb'"stop_reason": ?"[^"]*"'}
    return bool(re.search(mark.get(REMOTES[kind].wire, rb'"finish_reason": ?"[^"]*"'), body[:at]))


def cut_everywhere(kind: str, body: bytes) -> None:
    frames = frames_of(kind, body)
    ends = [len(b"".join(frames[: n + 1])) for n in range(len(frames))]
    least: Outcome = ("", "")
    whole = outcome_of(decoded(kind, body))
    for at in range(len(body)):
        if at in ends:
            least = outcome_of(decoded(kind, body[:at], to_end=False))
        events = decoded(kind, body[:at])
        check(is_ended(kind, body, at), events, at, least=least, whole=whole)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_recording_cut_at_any_byte_is_reported_to_be_cut(kind: str, prompt: str) -> None:
    cut_everywhere(kind, await recording(kind, prompt))


def three_of(api: str) -> list[RecordedStream]:
    """Give whole answers as real servers sent them, those with calls or thoughts first."""
    streams = [
        stream
        for stream in load_streams(api)
        if stream.meta["provenance"] == "recorded"
        and stream.expected["outcome"] == "complete"
        and len(stream.decoded_body) < MAX_LENGTH
        and stream.expected["finish"] != "load"
    ]
    streams.sort(
        key=lambda s: (not s.expected["tool_calls"], not s.expected["thinking"], len(s.body))
    )
    with_calls = [stream for stream in streams if stream.expected["tool_calls"]][:1]
    rest = [stream for stream in reversed(streams) if stream not in with_calls]
    return (with_calls + rest)[:3]


RECORDED = [(kind, stream) for kind in KINDS for stream in three_of(APIS.get(kind, kind))]


@needs_corpus
@pytest.mark.slow_one_in(3)
@pytest.mark.parametrize(("kind", "stream"), RECORDED, ids=lambda v: getattr(v, "id", v))
def test_an_answer_of_a_real_server_cut_at_any_byte_is_reported_to_be_cut(
    kind: str, stream: RecordedStream
) -> None:
    cut_everywhere(kind, stream.decoded_body)


class Cutting:
    """A server that sends a body as far as it is told, and closes; in the order of its requests."""

    def __init__(self, kind: str) -> None:
        self.answer = b""
        self.open = 0
        self._kind = kind

    async def connection(self, stream: SocketStream) -> None:
        self.open += 1
        try:
            async with stream:
                if STOP in await stream.receive():
                    await stream.send(head("", "content-length: 2") + b"{}")
                    return
                with suppress(anyio.BrokenResourceError):
                    length = len(self.answer) + 1
                    await stream.send(
                        head(REMOTES[self._kind].wire, f"content-length: {length}") + self.answer
                    )
                    await stream.send_eof()
                    async for _ in stream:
                        pass
        finally:
            self.open -= 1


async def cut_over_a_connection(kind: str, prompt: str, places: Sequence[int] | None) -> None:
    body, server = await recording(kind, prompt), Cutting(kind)
    async with raw_server(server.connection) as port:
        url = f"http://127.0.0.1:{port}"
        provider = create_provider(REMOTES[kind].spec(url))
        whole = outcome_of(decoded(kind, body))
        for place in places or range(len(body)):
            at = place % len(body)
            server.answer = body[:at]
            least = outcome_of(decoded(kind, body[:at], to_end=False))
            events = await asked(provider)
            check(is_ended(kind, body, at), events, at, least=least, whole=whole)
            with anyio.fail_after(5):
                while server.open:
                    await anyio.sleep(0)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


async def asked(provider: ProviderAdapter) -> list[ProviderEvent]:
    request = Request(model="tiny", messages=[Message("user", "hello")])
    with anyio.fail_after(5):
        async with provider.chat_stream(request) as stream:
            events = [event async for event in stream]
            assert [event async for event in stream] == []
    return events


@pytest.mark.parametrize(("kind", "prompt"), remotes_with(PROMPTS, ["think"], DECODERS))
async def test_a_connection_cut_at_some_bytes_is_reported_and_closed(
    kind: str, prompt: str
) -> None:
    chance = chance_for(20_267)
    await cut_over_a_connection(kind, prompt, [chance.randrange(10**6) for _ in range(SAMPLES)])


@pytest.mark.slow_one_in(3)
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_connection_cut_at_any_byte_is_reported_and_closed(kind: str, prompt: str) -> None:
    await cut_over_a_connection(kind, prompt, None)


@pytest.mark.slow_one_in(4)
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("kind", BACKENDS)
async def test_a_backends_connection_cut_at_any_byte_is_reported_and_closed(
    kind: str, prompt: str
) -> None:
    longest = len(await recording(kind, prompt))
    stride = 1 if prompt == "think" else STRIDE
    await cut_over_a_connection(kind, prompt, range(BACKENDS.index(kind), longest, stride))
