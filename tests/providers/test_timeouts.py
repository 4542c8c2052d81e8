"""Each time limit of the settings file ends what it is about."""

import time

import anyio
import pytest

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.openai_compatible import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.provider_set import provider_spec
from tests.config.conftest import Load, load, paths, write  # noqa: F401 -- fixtures
from tests.providers.asking import ask
from tests.support.guarded.fair_clock import sleep
from tests.support.http_server import Handler, Received, Reply, Server, keep_open, raw_server, serve

LINE = b'{"message":{"content":"Hel"},"done":false}\n'


def spec_of(load: Load, url: str, **limits: float) -> ProviderSpec:  # noqa: F811 -- the fixture
    lines = "".join(f"{name} = {value}\n" for name, value in limits.items())
    text = f'[providers.p]\nkind = "ollama"\nbase_url = "{url}"\n{lines}'
    loaded = load(text)
    assert loaded.all_problems == ()
    return provider_spec("p", loaded.config.providers["p"])


async def silent(_request: Received, reply: Reply) -> None:
    await reply.start(content_type="application/x-ndjson")
    await anyio.sleep_forever()


async def stalls(_request: Received, reply: Reply) -> None:
    await reply.start(content_type="application/x-ndjson")
    await reply.write(LINE)
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("handler", "limit", "fault", "reason"),
    [
        (silent, "first_byte_timeout_s", "first_byte", "sent no answer within 0.2 s."),
        (stalls, "idle_timeout_s", "idle", "sent nothing for 0.2 s."),
    ],
)
async def test_the_clocks_of_an_answer_are_those_of_the_settings(
    handler: Handler,
    limit: str,
    fault: str,
    reason: str,
    load: Load,  # noqa: F811 -- the fixture
) -> None:
    async with serve(handler) as server:
        began = time.monotonic()
        *_, end = await ask(spec_of(load, server.url, **{limit: 0.2}))
        assert 0.2 <= time.monotonic() - began < 5
        await server.settled()
    assert isinstance(end, ErrorEvent)
    assert end.error.details["fault"] == fault
    assert reason in end.error.message
    assert limit in (end.error.hint or "")


async def test_the_clock_of_a_connection_is_that_of_the_settings(
    load: Load,  # noqa: F811 -- the fixture
) -> None:
    async with raw_server(keep_open) as port:
        url = f"https://127.0.0.1:{port}"
        began = time.monotonic()
        (end,) = await ask(spec_of(load, url, connect_timeout_s=0.2))
        assert 0.2 <= time.monotonic() - began < 5
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.details["fault"]) == (ErrorCode.TIMEOUT, "connect_timeout")


async def test_a_program_that_was_held_up_takes_what_came_meanwhile(
    load: Load,  # noqa: F811 -- the fixture
) -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        await reply.write(LINE)
        await is_read.wait()
        await anyio.wait_all_tasks_blocked()  # the next one is waited for
        sleep(0.3)  # nothing runs meanwhile, as after Ctrl+Z: the clock runs out
        await reply.write(b'{"message":{"content":"lo"},"done":true,"done_reason":"stop"}\n')

    is_read = anyio.Event()
    async with serve(answer) as server:
        provider = OllamaProvider(spec_of(load, server.url, idle_timeout_s=0.2))
        events = []
        request = Request(model="m", messages=[Message("user", "Hi")])
        async with provider.chat_stream(request) as stream:
            async for event in stream:
                events.append(event)
                is_read.set()
        await provider.dispose()
    assert events[:2] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(events[-1], Finish)


async def test_a_first_chunk_without_words_holds_up_no_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ollm_tui.providers.read_coalescer.GATHER_S", 3600.0)
    has_come = anyio.Event()

    async def role_first(_request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        await reply.write(b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n')
        await has_come.wait()
        await reply.write(b'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n')
        await anyio.sleep_forever()

    async def when_read(server: Server) -> None:
        """Send the words once the first chunk was read, so that they are waited for."""
        while not server.answering:
            await anyio.sleep(0)
        await anyio.wait_all_tasks_blocked()
        has_come.set()

    async with serve(role_first) as server, anyio.create_task_group() as group:
        spec = ProviderSpec(name="p", kind="openai-compatible", base_url=server.url)
        provider = OpenAICompatibleProvider(spec)
        group.start_soon(when_read, server)
        request = Request(model="m", messages=[Message("user", "hi")])
        with anyio.fail_after(10):
            async with provider.chat_stream(request) as events:
                assert await anext(events) == TextDelta("Hello")
        await provider.dispose()
