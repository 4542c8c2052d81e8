"""The hub that the settings name."""

from collections.abc import Sequence
from typing import NoReturn

from ollm_tui.config.hub_settings import HubSettings
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.ports import Hub
from ollm_tui.library.hub.repo import HubModel, HubRepo
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher


def hub_of(settings: HubSettings, fetcher: Fetcher) -> Hub:
    """Give the hub; one whose address is wrong says so to whoever asks it."""
    if settings.problem is not None:
        return ClosedHub(settings.problem)
    token = settings.token.get_secret_value() if settings.token else None
    return HubClient(fetcher, settings.endpoint, token)


class ClosedHub:
    """A hub that is not asked, because it is not clear which one is meant."""

    def __init__(self, problem: ConfigProblem) -> None:
        self._problem = problem

    @property
    def place(self) -> str:
        """Where the mistake stands."""
        return str(self._problem.origin)

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Refuse.

        Raises:
            AIError: always.
        """
        self._refuse()

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Refuse.

        Raises:
            AIError: always.
        """
        self._refuse()

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Refuse.

        Raises:
            AIError: always.
        """
        self._refuse()

    def token_for(self, url: str) -> str | None:
        """Give nobody the token."""
        return None

    def _refuse(self) -> NoReturn:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            str(self._problem),
            hint="Correct the address, or leave it out to ask Hugging Face.",
        )
