"""What may be asked of the registry."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.model import ModelInfo, ModelRef


class Registry(Protocol):
    """All models that are known, here or not; useful without a network."""

    async def prepare(self) -> None:
        """Read what is kept, in a thread; a search that comes first reads at once."""
        ...

    def search(
        self, text: str = "", *, purpose: str | None = None, limit: int = 50
    ) -> Sequence[RegistryEntry]:
        """Find among what is known: built in, remembered of the hub, installed; asks nobody."""
        ...

    async def search_hub(self, text: str, *, limit: int = 30) -> Sequence[RegistryEntry]:
        """Ask the hub too, remember what it says, and give all that fits.

        Raises:
            AIError: the hub cannot be asked; `search` still answers.
        """
        ...

    def note_installed(self, models: Iterable[tuple[ModelRef, ModelInfo]]) -> None:
        """Take what the engines list, in place of what they listed before."""
        ...

    async def rate(self, entry_id: str, stars: int | None) -> RegistryEntry:
        """Keep the person's rating, 1 to 5; None takes it back.

        Raises:
            AIError: there is no such entry, or it cannot be written.
        """
        ...

    async def note_use(self, ref: ModelRef) -> None:
        """Count a chat with a model; a failure to write is logged, not raised."""
        ...
