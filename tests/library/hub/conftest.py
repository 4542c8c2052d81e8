"""A hub on loopback, and a client that asks it."""

from collections.abc import AsyncIterator, Callable

import pytest

from ollm_tui.library.hub.client import HubClient
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.providers.fetcher import HttpFetcher
from tests.support.fake_hub import FakeHub, serve_hub
from tests.support.hub_samples import sample_hub

MakeClient = Callable[..., HubClient]


@pytest.fixture
async def hub() -> AsyncIterator[FakeHub]:
    async with serve_hub(sample_hub(10_000)) as hub:
        yield hub


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    fetcher = HttpFetcher()
    yield fetcher
    await fetcher.aclose()


@pytest.fixture
async def client_of(hub: FakeHub, fetcher: Fetcher) -> MakeClient:
    def make(token: str | None = None, endpoint: str | None = None) -> HubClient:
        return HubClient(fetcher, endpoint or hub.url, token)

    return make
