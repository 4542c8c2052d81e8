"""What a pool does with models: every member that has the model does it, one after another."""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsCopy,
    SupportsDelete,
    SupportsDispose,
    SupportsInitialize,
    SupportsLoad,
    SupportsLoadFor,
    SupportsUnload,
)
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.pool.provider import PoolProvider
from ollm_tui.providers.pool.pull import pull_to_all
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.watched_pull import WatchedPull


class Pulls(PoolProvider):
    """All members fetch models."""

    def pull_model(self, name: str) -> WatchedPull:
        """Fetch a model to every member, one after another."""
        return WatchedPull(partial(pull_to_all, self._choice, name))


class Deletes(PoolProvider):
    """All members delete models."""

    async def delete_model(self, name: str) -> None:
        """Remove a model from every member that has it."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsDelete)
            await adapter.delete_model(name)

        await self._choice.each_holder(name, ask)


class Copies(PoolProvider):
    """All members copy models."""

    async def copy_model(self, source: str, destination: str) -> None:
        """Give a model a second name on every member that has it."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsCopy)
            await adapter.copy_model(source, destination)

        await self._choice.each_holder(source, ask)


class Loads(PoolProvider):
    """All members load models ahead of use."""

    async def load_model(self, name: str) -> None:
        """Load a model on every member that has it."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsLoad)
            await adapter.load_model(name)

        await self._choice.each_holder(name, ask)


class LoadsFor(PoolProvider):
    """All members load models for as long as somebody wants."""

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model on every member that has it, and keep it for this long."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsLoadFor)
            await adapter.load_model_for(name, keep_alive)

        await self._choice.each_holder(name, ask)


class Unloads(PoolProvider):
    """All members free a model's memory on demand."""

    async def unload_model(self, name: str) -> None:
        """Drop a model from the memory of every member that has it."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsUnload)
            await adapter.unload_model(name)

        await self._choice.each_holder(name, ask)


class Initializes(PoolProvider):
    """All members want to be woken."""

    async def initialize(self) -> None:
        """Prepare every member."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsInitialize)
            await adapter.initialize()

        await _all(self._choice, ask)


class Disposes(PoolProvider):
    """All members hold something."""

    async def dispose(self) -> None:
        """Close the connections of every member."""

        async def ask(adapter: ProviderAdapter) -> None:
            assert isinstance(adapter, SupportsDispose)
            await adapter.dispose()

        await _all(self._choice, ask)


async def _all(choice: MemberSelection, do: Callable[[ProviderAdapter], Awaitable[None]]) -> None:
    async def one(adapter: ProviderAdapter) -> None:
        await do(adapter)

    with single_error():
        async with anyio.create_task_group() as group:
            for member in choice.members:
                group.start_soon(one, member.adapter)
