"""When a request is sent again, and when it is not."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt_run import ChatParts
from ollm_tui.chat.retry import RetryPolicy
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

BUSY = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Busy.", retryable=True)
NOW = RetryPolicy(first_wait_s=0.0)


class Attempts(ScriptedProvider):
    """Plays one script for each request."""

    def __init__(self, *scripts: Sequence[ProviderEvent]) -> None:
        super().__init__()
        self.scripts = [*scripts]

    def chat_stream(self, request: Request) -> ProviderStream:
        self.script = self.scripts.pop(0)
        return super().chat_stream(request)


def client_over(provider: ScriptedProvider, policy: RetryPolicy = NOW) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)), retry=policy)
    return ChatClient(parts, Conversation(model="scripted://m"))


async def ask(client: ChatClient) -> list[chat_events.ChatEvent]:
    async with client.chat("hi") as events:
        return [event async for event in events]


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_passing_fault_before_the_first_byte_is_tried_again(failures: int) -> None:
    scripts: list[Sequence[ProviderEvent]] = [[ErrorEvent(BUSY)]] * failures
    provider = Attempts(*scripts, [TextDelta("ok"), Finish("stop")])
    events = await ask(client_over(provider))
    told = [event for event in events if isinstance(event, chat_events.Retrying)]
    assert [event.attempt for event in told] == [*range(1, failures + 1)]
    assert events[-1] == chat_events.Finish(reason="stop")
    assert len(provider.requests) == failures + 1


async def test_after_two_retries_the_error_is_the_end() -> None:
    provider = Attempts(*[[ErrorEvent(BUSY)]] * 5)
    events = await ask(client_over(provider))
    assert events[-1] == chat_events.ErrorEvent(error=BUSY)
    assert len(provider.requests) == 3


async def test_nothing_is_tried_again_once_something_came() -> None:
    provider = Attempts([TextDelta("par"), ErrorEvent(BUSY)])
    events = await ask(client_over(provider))
    assert events[-1] == chat_events.ErrorEvent(error=BUSY)
    assert len(provider.requests) == 1


async def test_what_will_not_pass_is_not_tried_again() -> None:
    provider = Attempts([ErrorEvent(AIError(ErrorCode.AUTH_FAILED, "Wrong key."))])
    await ask(client_over(provider))
    assert len(provider.requests) == 1


async def test_a_stop_while_waiting_to_retry_ends_at_once() -> None:
    client = client_over(Attempts([ErrorEvent(BUSY)]), RetryPolicy(first_wait_s=1000))
    signal = AbortSignal()
    with anyio.fail_after(5):
        async with client.chat("hi", signal=signal) as events:
            seen = []
            async for event in events:
                seen.append(event)
                signal.abort()
    assert seen[-1] == chat_events.Finish(reason="abort")


@given(attempt=st.integers(1, 4), jitter=st.floats(0, 1))
def test_waits_grow_within_bounds(attempt: int, jitter: float) -> None:
    wait = RetryPolicy(jitter=lambda: jitter).wait_s(BUSY, attempt)
    if attempt > 2:
        assert wait is None
    else:
        assert wait is not None
        assert 0.25 * 2 ** (attempt - 1) <= wait <= 0.5 * 2 ** (attempt - 1)


@pytest.mark.parametrize(
    ("asked", "wait"), [(3, 3.0), (0.5, 0.5), (61, None), (-1, None), (10**9, None)]
)
def test_a_servers_own_wish_counts_within_reason(asked: float, wait: float | None) -> None:
    error = AIError(
        ErrorCode.RATE_LIMITED, "Slow down.", retryable=True, details={"retry_after_s": asked}
    )
    assert RetryPolicy().wait_s(error, 1) == wait
