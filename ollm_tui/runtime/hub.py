"""The hub that the settings name, or the reason why none is asked."""

from collections.abc import Sequence
from typing import NoReturn

from ollm_tui.config.hosts import shown_url
from ollm_tui.config.hub_settings import HubSettings
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.repo import Hub, HubModel, HubRepo
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.runtime.specs import settings_error


def make_hub(settings: HubSettings, fetcher: Fetcher) -> Hub:
    """Make the hub; nobody is asked yet."""
    if settings.problem is not None:
        return _ClosedHub(shown_url(settings.endpoint), settings_error(settings.problem))
    token = settings.token.get_secret_value() if settings.token else None
    return HubClient(fetcher, settings.endpoint, token)


class _ClosedHub:
    """A hub whose settings cannot be used: another one is not asked in its place."""

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
