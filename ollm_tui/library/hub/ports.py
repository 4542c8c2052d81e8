"""What may be asked of a hub."""

from collections.abc import Sequence
from typing import Protocol

from ollm_tui.library.hub.repo import HubModel, HubRepo


class Hub(Protocol):
    """A place with repositories of model files."""

    @property
    def place(self) -> str:
        """The hub's address as messages name it."""
        ...

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Find repositories with model files, the most downloaded first.

        Raises:
            AIError: the hub cannot be asked; the message names it and the next step.
        """
        ...

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Give what can be chosen in a repository.

        Raises:
            AIError: MODEL_NOT_FOUND, AUTH_FAILED for one that is gated or private, or as above.
        """
        ...

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Give where a file is fetched from."""
        ...

    def token_for(self, url: str) -> str | None:
        """Give the person's token for an address: None for any that is not the hub's own."""
        ...
