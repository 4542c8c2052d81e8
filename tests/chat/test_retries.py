"""What is asked again without being told to, how often, and when."""

from collections.abc import Sequence

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.turn import MAX_WAIT_S, wait_before
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, Rerouted, TextDelta
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import CUT, EMPTY, STALLED, Endpoint
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")


def busy(**headers: str) -> AIError:
    return http_error(
        Head(503, "", {k.replace("_", "-"): v for k, v in headers.items()}), b"", ENDPOINT
    )


def refused() -> AIError:
    return ENDPOINT.error(
        ErrorCode.SERVICE_UNAVAILABLE, "Nobody.", None, fault="refused", retryable=True
    )


class Rig:
    """A client whose provider answers with one script after the other, and that never sleeps."""

    def __init__(self, *scripts: Sequence[ProviderEvent]) -> None:
        self.provider = ScriptedProvider(script=scripts[0])
        self.scripts = list(scripts[1:])
        self.slept: list[float] = []
        registry = ProviderRegistry()
        registry.register(self.provider)
        self.router = Router(registry, ModelCatalog(registry))
        parts = ChatParts(router=self.router, sleep=self.sleep)
        self.client = ChatClient(parts, Conversation(model="scripted://m"))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.scripts:
            self.provider.script = self.scripts.pop(0)

    async def ask(self, signal: AbortSignal | None = None) -> list[chat_events.ChatEvent]:
        async with self.client.chat("hi", signal=signal) as events:
            return [event async for event in events]


async def test_a_busy_server_is_asked_again_and_the_answer_is_one_answer() -> None:
    rig = Rig([ErrorEvent(busy())], [TextDelta("Hello"), Finish("stop")])
    events = await rig.ask()
    assert [type(e).__name__ for e in events] == ["Retrying", "TextDelta", "TurnComplete", "Finish"]
    assert isinstance(events[0], chat_events.Retrying)
    assert (events[0].attempt, events[0].turn) == (1, 1)
    assert rig.slept == [events[0].wait_s]
    assert [m.role for m in rig.client.conversation.messages] == ["user", "assistant"]


async def test_another_server_of_a_pool_is_reported_as_a_retry_and_counts_as_none() -> None:
    rerouted = Rerouted(refused(), attempt=1)
    rig = Rig([rerouted, ErrorEvent(busy())], [TextDelta("Hello"), Finish("stop")])
    events = await rig.ask()
    assert events[0] == chat_events.Retrying(attempt=1, wait_s=0.0, error=refused(), turn=1)
    names = [type(e).__name__ for e in events[1:]]
    assert names == ["Retrying", "TextDelta", "TurnComplete", "Finish"]
    assert [m.role for m in rig.client.conversation.messages] == ["user", "assistant"]


async def test_after_two_retries_the_failure_stands() -> None:
    rig = Rig([ErrorEvent(refused())])
    events = await rig.ask()
    assert [type(e).__name__ for e in events] == ["Retrying", "Retrying", "ErrorEvent"]
    assert len(rig.provider.requests) == 3


async def test_nothing_is_asked_again_once_a_word_has_come() -> None:
    rig = Rig([TextDelta("Hel"), ErrorEvent(busy())])
    assert [type(e).__name__ for e in await rig.ask()] == ["TextDelta", "ErrorEvent"]
    assert len(rig.provider.requests) == 1


async def test_stopping_while_it_waits_ends_with_abort() -> None:
    rig, signal, waiting = Rig([ErrorEvent(busy())]), AbortSignal(), anyio.Event()

    async def sleep(_seconds: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    parts = ChatParts(router=rig.router, sleep=sleep)
    rig.client = ChatClient(parts, rig.client.conversation)
    async with rig.client.chat("hi", signal=signal) as events:
        await waiting.wait()
        signal.abort()
        assert [e async for e in events][-1] == chat_events.Finish(reason="abort")
    assert len(rig.provider.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_status_that_may_go_by_is_worth_another_try(status: int) -> None:
    assert wait_before(1, http_error(Head(status), b"", ENDPOINT)) is not None


@pytest.mark.parametrize(
    "error",
    [
        *(
            http_error(Head(status), b"", ENDPOINT)
            for status in (400, 401, 402, 403, 404, 422, 501)
        ),
        http_error(Head(429), b'{"error": {"code": "insufficient_quota"}}', ENDPOINT),
        busy(x_should_retry="false"),
        busy(retry_after=str(MAX_WAIT_S + 1)),
        ENDPOINT.fault(CUT),
        ENDPOINT.fault(STALLED, seconds=60),
        ENDPOINT.fault(EMPTY),
    ],
    ids=str,
)
def test_a_failure_that_would_come_again_stands(error: AIError) -> None:
    assert wait_before(1, error) is None


def test_the_wait_is_the_servers_wish_else_it_doubles_with_jitter() -> None:
    assert wait_before(1, busy(retry_after="7")) == 7
    assert [wait_before(n, busy(), lambda: 0.5) for n in (1, 2, 3)] == [0.5, 1.0, None]
    assert wait_before(2, busy(), lambda: 0.0) == 0.8
    assert wait_before(2, busy(), lambda: 1.0) == 1.2
