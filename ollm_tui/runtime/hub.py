"""The hub that the settings name, and the registry of models; both are imported on first use."""

from collections.abc import Sequence
from typing import NoReturn

from ollm_tui.config.paths import AppPaths
from ollm_tui.config.provider_settings import HubSettings
from ollm_tui.config.urls import shown_url
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.repo import Hub, HubModel, HubRepo
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.runtime.provider_set import settings_error


def make_hub(settings: HubSettings, fetcher: Fetcher) -> Hub:
    """Make the hub; no request is sent."""
    if settings.problem is not None:
        return _ClosedHub(shown_url(settings.endpoint), settings_error(settings.problem))
    token = settings.token.get_secret_value() if settings.token else None
    return HubClient(fetcher, settings.endpoint, token)


class _ClosedHub:
    """A hub whose settings cannot be used; no other one takes its place."""

    def __init__(self, address: str, problem: AIError) -> None:
        self.address = address
        self._problem = problem

    async def search(self, _text: str, *, limit: int = 30) -> Sequence[HubModel]:
        self._refuse()

    async def repo(self, _repo: str, *, revision: str = "main") -> HubRepo:
        self._refuse()

    def file_url(self, _repo: str, _revision: str, _path: str) -> str:
        self._refuse()

    def token_for(self, _url: str) -> str | None:
        return None

    def _refuse(self) -> NoReturn:
        raise self._problem


def make_registry(paths: AppPaths, hub: Hub | None = None) -> ModelRegistry:
    """Make the registry; nothing is read until it is used."""
    return ModelRegistry(
        opinions_file=paths.data_dir / "registry.json",
        hub_file=paths.cache_dir / "hub.json",
        hub=hub,
    )
