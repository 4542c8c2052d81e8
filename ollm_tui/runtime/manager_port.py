"""What a front end may ask of the models that are there."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.runtime.details import ModelAction, ModelDetails


class ModelManager(Protocol):
    """Inspects, loads, unloads, copies and deletes models of any provider."""

    async def deeds(self, ref: ModelRef) -> Mapping[ModelAction, str | None]:
        """Tell for each deed why it cannot be done with this model; None where it can."""
        ...

    def place(self, ref: ModelRef) -> str:
        """Name where a model is, without what is secret in an address."""
        ...

    async def show(self, ref: ModelRef) -> ModelDetails:
        """Describe a model; a provider that describes none has at least its list.

        Raises:
            AIError: it is not there, or its server cannot be asked.
        """
        ...

    async def delete(self, ref: ModelRef) -> None:
        """Remove a model for good.

        Raises:
            AIError: it is still there.
        """
        ...

    async def copy(self, ref: ModelRef, name: str) -> ModelRef:
        """Give a model a second name on its server.

        Raises:
            AIError: it has none.
        """
        ...

    async def load(self, ref: ModelRef, *, keep_alive: str | None = None) -> None:
        """Bring a model into memory; `keep_alive` as Ollama writes it: `10m`, `-1` forever.

        Raises:
            AIError: it is not loaded.
        """
        ...

    async def unload(self, ref: ModelRef) -> None:
        """Drop a model from memory.

        Raises:
            AIError: it is still there.
        """
        ...

    async def running(self) -> Sequence[tuple[ModelRef, ModelInfo]]:
        """Give the models in memory of every server that tells; one that fails is left out."""
        ...
