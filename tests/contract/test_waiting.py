"""Servers that are still starting, and models that take long to load, are waited for."""

from collections.abc import Callable, Mapping

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose, SupportsLoad
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_backends import FakeLlamaCpp, FakeLocalAI
from tests.support.fakes import REMOTES
from tests.support.http_server import Handler, Received, Reply, serve

HELLO = Request(model="tiny", messages=[Message("user", "hello")])


def messages_after_loading() -> Handler:
    """Give a llama.cpp server that answers over messages once its model is loaded."""
    loading, answers = FakeLlamaCpp(busy=4), FakeAnthropic()

    async def both(request: Received, reply: Reply) -> None:
        is_ready = request.path == "/v1/messages" and not loading.busy
        await (answers if is_ready else loading)(request, reply)

    return both


STARTING: Mapping[str, tuple[Callable[[], Handler], str, str]] = {
    "llamacpp": (lambda: FakeLlamaCpp(busy=4), "/v1/chat/completions", "/health"),
    "localai": (lambda: FakeLocalAI(starting=4), "/v1/chat/completions", "/readyz"),
    "llamacpp messages": (messages_after_loading, "/v1/messages", "/health"),
}
"""A server that is ready at the fifth request, the path of an answer, and that of its state."""


@pytest.mark.parametrize("kind", STARTING)
async def test_an_answer_waits_until_the_server_is_ready(kind: str) -> None:
    make, answer, state = STARTING[kind]
    async with serve(make()) as server:
        provider = create_provider(REMOTES[kind].spec(server.url))
        async with provider.chat_stream(HELLO) as stream:
            events = [event async for event in stream]
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert isinstance(events[-1], Finish)
    assert [request.path for request in server.received] == [answer, *[state] * 4, answer]


LOADS = {"ollama": "/api/chat", "lmstudio": "/api/v1/models/load"}


@pytest.mark.parametrize("delay_s", [0.3, None], ids=["slow", "silent"])
@pytest.mark.parametrize("kind", LOADS)
async def test_loading_has_the_clock_of_a_first_byte_and_not_that_of_a_list(
    kind: str, delay_s: float | None
) -> None:
    fake = REMOTES[kind].make()

    async def late(request: Received, reply: Reply) -> None:
        if request.path == LOADS[kind]:
            await (anyio.sleep_forever() if delay_s is None else anyio.sleep(delay_s))
        await fake(request, reply)

    async with serve(late) as server:
        limit_s = 0.2 if delay_s is None else 5
        spec = REMOTES[kind].spec(server.url, list_timeout_s=0.1, first_byte_timeout_s=limit_s)
        provider = create_provider(spec)
        assert isinstance(provider, SupportsLoad)
        if delay_s is None:
            with pytest.raises(AIError, match=r"within 0\.2 s") as caught:
                await provider.load_model("tiny")
            assert caught.value.code == ErrorCode.TIMEOUT
        else:
            await provider.load_model("tiny")
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
