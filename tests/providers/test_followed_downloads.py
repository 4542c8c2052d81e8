"""A download that a server does by itself is followed past failures that pass."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.openai_compatible import (
    LlamaCppRouterProvider,
    LMStudioProvider,
    LocalAIProvider,
    operations,
)
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_backends import FakeLlamaCpp, FakeLMStudio, FakeLocalAI
from tests.support.http_server import Handler, Received, Reply, serve

Puller: TypeAlias = LMStudioProvider | LocalAIProvider | LlamaCppRouterProvider
KINDS: Mapping[str, tuple[type[Puller], Callable[[], Handler], str, str]] = {
    "lmstudio": (LMStudioProvider, FakeLMStudio, "/api/v1/models/download/status/", "new"),
    "localai": (LocalAIProvider, FakeLocalAI, "/models/jobs/", "new"),
    "router": (
        LlamaCppRouterProvider,
        partial(FakeLlamaCpp, router=True),
        "/models",
        "user/new:Q4",
    ),
}
CUT = 0


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "FIRST_WAIT_S", 0.0)


@asynccontextmanager
async def pulling(kind: str, failures: list[int]) -> AsyncIterator[AsyncIterator[str]]:
    """Pull from a server that fails so at the first questions for its download."""
    made, make_fake, polled, model = KINDS[kind]
    fake = make_fake()
    started = False

    async def answer(request: Received, reply: Reply) -> None:
        nonlocal started
        if not (started and request.method == "GET" and request.path.startswith(polled)):
            started = started or request.method == "POST"
            await fake(request, reply)
        elif not failures:
            await fake(request, reply)
        elif status := failures.pop(0):
            await reply.whole(b"upstream is away", status, "text/plain")

    async with serve(answer) as server:
        url = server.url if kind == "localai" else f"{server.url}/v1"
        provider = made(ProviderSpec(name="p", kind="openai-compatible", base_url=url))
        yield (step.status async for step in provider.pull_model(model))
        await provider.dispose()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_download_goes_on_past_failures_that_pass(kind: str) -> None:
    async with pulling(kind, [503, CUT, 502, 504]) as steps:
        assert [status async for status in steps][-1] == "success"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_stays_away_is_given_up(kind: str) -> None:
    failures = [503] * 50
    async with pulling(kind, failures) as steps:
        with pytest.raises(AIError) as caught:
            _ = [status async for status in steps]
    assert caught.value.status == 503
    assert len(failures) == 50 - operations.MAX_FAILURES - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [401, 404, 500])
async def test_what_does_not_pass_ends_it_at_once(kind: str, status: int) -> None:
    failures = [status] * 2
    async with pulling(kind, failures) as steps:
        with pytest.raises(AIError) as caught:
            _ = [status async for status in steps]
    assert caught.value.status == status
    assert len(failures) == 1


async def test_only_failures_in_a_row_count() -> None:
    turns = iter([*[False] * operations.MAX_FAILURES, True] * 3 + [False] * 9)

    async def ask() -> str:
        if next(turns):
            return "told"
        raise AIError(ErrorCode.TIMEOUT, "slow", retryable=True)

    reported = []
    with pytest.raises(AIError, match="slow"):
        async for reply in operations.poll(ask):
            reported.append(reply)
    assert reported == ["told"] * 3
    assert len([*turns]) == 9 - operations.MAX_FAILURES - 1
