"""A provider of one method keeps the rules of answers: one end, at once on abort, nothing open."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import anyio
import pytest

from ollm_tui import AbortSignal, AIError, BaseProvider, ErrorCode, Request, Response, ToolCall
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.providers.spec import ProviderSpec

Script = Callable[[Request], AsyncIterator[str | ProviderEvent]]
CALL = ToolCall(id="1", name="clock", args={})


class Scripted(BaseProvider):
    """Answers as a test says."""

    def __init__(self, script: Script) -> None:
        super().__init__("scripted")
        self._script = script
        self.closed = 0

    async def stream(self, request: Request) -> AsyncIterator[str | ProviderEvent]:
        try:
            async for event in self._script(request):
                yield event
        finally:
            self.closed += 1


def asked(signal: AbortSignal | None = None, *, stream: bool = True) -> Request:
    return Request(model="m", input="Hello", signal=signal, stream=stream)


async def events_of(provider: BaseProvider, request: Request) -> list[ProviderEvent]:
    async with provider.chat_stream(request) as events:
        return [event async for event in events]


async def hello(_request: Request) -> AsyncIterator[str | ProviderEvent]:
    yield ThinkingDelta("Hm.")
    yield "Good "
    yield "day"


async def test_text_becomes_deltas_and_the_end_is_made_for_it() -> None:
    provider = Scripted(hello)
    assert isinstance(provider, ProviderAdapter)
    assert (provider.name, provider.label, provider.capabilities()) == ("scripted", "scripted", ())
    assert await events_of(provider, asked()) == [
        ThinkingDelta("Hm."),
        TextDelta("Good "),
        TextDelta("day"),
        Finish("stop"),
    ]
    assert provider.closed == 1


async def test_calls_end_as_calls_and_nothing_follows_the_first_end() -> None:
    async def calls(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        yield ToolCallEvent(CALL)

    async def two_ends(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        yield Finish("length")
        yield "more"
        yield Finish("stop")

    assert await events_of(Scripted(calls), asked()) == [ToolCallEvent(CALL), Finish("tool_calls")]
    provider = Scripted(two_ends)
    assert await events_of(provider, asked()) == [Finish("length")]
    assert provider.closed == 1


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (AIError(ErrorCode.RATE_LIMITED, "Too fast."), ErrorCode.RATE_LIMITED, "Too fast."),
        (
            ExceptionGroup("x", [ValueError(), AIError(ErrorCode.AUTH_FAILED, "No key.")]),
            ErrorCode.AUTH_FAILED,
            "No key.",
        ),
        (
            SystemExit(3),
            ErrorCode.INTERNAL_ERROR,
            "The provider scripted failed (SystemExit).",
        ),
        (
            asyncio.CancelledError(),
            ErrorCode.INTERNAL_ERROR,
            "The provider scripted failed (CancelledError).",
        ),
        (KeyError("secret"), ErrorCode.INTERNAL_ERROR, "The provider scripted failed (KeyError)."),
    ],
)
async def test_an_exception_is_the_one_end(
    raised: BaseException, code: ErrorCode, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        yield "Be"
        raise raised

    with caplog.at_level(logging.CRITICAL):
        text, end = await events_of(Scripted(fails), asked())
    assert text == TextDelta("Be")
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.message, end.error.provider) == (code, words, "scripted")


async def test_a_signal_ends_an_answer_that_waits() -> None:
    async def waits(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        yield "Well"
        await anyio.sleep_forever()

    provider, signal = Scripted(waits), AbortSignal()
    got = []
    with anyio.fail_after(5):
        async with provider.chat_stream(asked(signal)) as events:
            async for event in events:
                got.append(event)
                signal.abort()
    assert got == [TextDelta("Well"), Finish("abort")]
    assert provider.closed == 1


async def test_leaving_the_block_closes_the_answer() -> None:
    async def endless(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        while True:
            yield "la "

    provider = Scripted(endless)
    with anyio.fail_after(5):
        async with provider.chat_stream(asked()) as events:
            async for _event in events:
                break
    assert provider.closed == 1


async def test_a_whole_answer_is_gathered_and_a_stream_is_given_where_it_is_asked_for() -> None:
    provider = Scripted(hello)
    whole = await provider.invoke(asked(stream=False))
    assert isinstance(whole, Response)
    assert (whole.text, whole.finish_reason) == ("Good day", "stop")
    stream = await provider.invoke(asked())
    assert not isinstance(stream, Response)
    async with stream as events:
        assert [event async for event in events][-1] == Finish("stop")


async def test_a_whole_answer_raises_what_went_wrong() -> None:
    async def fails(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        raise AIError(ErrorCode.OUT_OF_MEMORY, "Full.")
        yield ""

    with pytest.raises(AIError, match="Full"):
        await Scripted(fails).invoke(asked(stream=False))


def test_the_settings_of_a_provider_are_kept() -> None:
    class Plain(BaseProvider):
        async def stream(self, request: Request) -> AsyncIterator[str | ProviderEvent]:
            yield ""

    spec = ProviderSpec(name="mine", kind="plain", label="Mine", base_url="http://h")
    provider = Plain(spec)
    assert (provider.name, provider.label, provider.spec) == ("mine", "Mine", spec)


@pytest.mark.parametrize("given", [5, None, b"bytes", ["text"]])
async def test_what_is_no_event_ends_the_answer(given: object) -> None:
    async def odd(_request: Request) -> AsyncIterator[str | ProviderEvent]:
        yield "Be"
        yield given  # type: ignore[misc]
        yield "late"

    text, end = await events_of(Scripted(odd), asked())
    assert text == TextDelta("Be")
    assert isinstance(end, ErrorEvent)
    assert end.error.message == (
        f"The provider scripted gave {type(given).__name__}, neither text nor an event."
    )


async def test_an_answer_that_was_stopped_is_stopped_whatever_it_raises_then() -> None:
    class Stubborn(BaseProvider):
        async def stream(self, request: Request) -> AsyncIterator[str | ProviderEvent]:
            try:
                yield "Be"
                await anyio.sleep_forever()
            finally:
                raise KeyError

    signal = AbortSignal()
    signal.abort()
    events = await events_of(Stubborn("stubborn"), asked(signal))
    assert events[-1] == Finish("abort")
    assert not [event for event in events if isinstance(event, ErrorEvent)]
