"""What a pool can tell of models: one list of all, and what the first to answer says."""

from collections.abc import Sequence

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsEmbed,
    SupportsList,
    SupportsRunning,
    SupportsShow,
    SupportsTextTokenCount,
    SupportsTokenCount,
    SupportsVersion,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.pool.faults import nobody
from ollm_tui.providers.pool.listing import PoolListing
from ollm_tui.providers.pool.provider import PoolProvider


class Lists(PoolProvider):
    """All members list their models."""

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give every model that a member has.

        Raises:
            AIError: when no member answers.
        """

        async def ask(adapter: ProviderAdapter) -> Sequence[ModelInfo]:
            assert isinstance(adapter, SupportsList)
            return await adapter.list_models()

        return await PoolListing(self._choice, ask, keep=True).run()


class ListsInSilence(Lists):
    """All members list nothing when they cannot be asked, and keep the reason."""

    last_error: AIError | None = None

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give every model that a member has; none and `last_error` when no member answers."""
        self.last_error = None
        try:
            return await super().list_models()
        except AIError as error:
            self.last_error = error
            return []


class ListsRunning(PoolProvider):
    """All members tell which models are in memory."""

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models in memory of any member.

        Raises:
            AIError: when no member answers.
        """

        async def ask(adapter: ProviderAdapter) -> Sequence[ModelInfo]:
            assert isinstance(adapter, SupportsRunning)
            return await adapter.list_running()

        return await PoolListing(self._choice, ask, keep=False).run()


class LoadsAsAsked(PoolProvider):
    """All members load a model with the window that a request names."""

    loads_with_window = True


class Counts(PoolProvider):
    """All members count tokens."""

    async def count_tokens(self, request: Request) -> int:
        """Let the first member that answers count."""

        async def ask(adapter: ProviderAdapter) -> int:
            assert isinstance(adapter, SupportsTokenCount)
            return await adapter.count_tokens(request)

        return await self._choice.first_answer(request.model, ask, takes_turn=False)


class CountsText(PoolProvider):
    """All members count the tokens of a text."""

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Let the first member that answers count."""

        async def ask(adapter: ProviderAdapter) -> int:
            assert isinstance(adapter, SupportsTextTokenCount)
            return await adapter.count_text_tokens(model, text)

        return await self._choice.first_answer(model, ask, takes_turn=False)


class Embeds(PoolProvider):
    """All members make embeddings."""

    async def embed(self, request: Request) -> Response:
        """Give the vectors of the first member that answers."""

        async def ask(adapter: ProviderAdapter) -> Response:
            assert isinstance(adapter, SupportsEmbed)
            return await adapter.embed(request)

        return await self._choice.first_answer(request.model, ask)


class Shows(PoolProvider):
    """All members describe models."""

    async def show_model(self, name: str) -> ModelInfo:
        """Give what the first member that answers knows of a model."""

        async def ask(adapter: ProviderAdapter) -> ModelInfo:
            assert isinstance(adapter, SupportsShow)
            return await adapter.show_model(name)

        return await self._choice.first_answer(name, ask, takes_turn=False)


class Versions(PoolProvider):
    """All members know their version."""

    async def server_version(self) -> str | None:
        """Give the version of the first member that answers; the others may have another.

        Raises:
            AIError: when no member answers.
        """
        errors: list[AIError] = []
        for member in self._choice.roster.order(range(len(self._choice.members))):
            adapter = self._choice.members[member].adapter
            assert isinstance(adapter, SupportsVersion)
            with self._choice.roster.attempt(member, takes_turn=False) as attempt:
                try:
                    version = await adapter.server_version()
                except AIError as error:
                    self._choice.judge(attempt, error)
                    errors.append(error)
                else:
                    attempt.answered()
                    return version
        raise nobody(self._choice.name, self._choice.label, errors)
