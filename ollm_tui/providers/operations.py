"""What can be done with the models of any provider, or the sentence that it cannot be done.

Each function gives the adapter as the Protocol that the deed needs.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import PullProgress
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsCopy,
    SupportsDelete,
    SupportsLoad,
    SupportsLoadFor,
    SupportsPull,
    SupportsRunning,
    SupportsShow,
    SupportsUnload,
)
from ollm_tui.providers.foreign import translated
from ollm_tui.providers.unusable import UnusableProvider


def cannot(adapter: ProviderAdapter, deed: str) -> AIError:
    """Make the error of a deed that an adapter does not offer; a wrong setting goes first."""
    if isinstance(adapter, UnusableProvider):
        return adapter.problem
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE, f"{adapter.label} cannot {deed}.", provider=adapter.name
    )


def shower(adapter: ProviderAdapter) -> SupportsShow:
    """Give what describes models."""
    if isinstance(adapter, SupportsShow):
        return adapter
    raise cannot(adapter, "describe models")


def puller(adapter: ProviderAdapter) -> SupportsPull:
    """Give what fetches models."""
    if isinstance(adapter, SupportsPull):
        return adapter
    raise cannot(adapter, "pull models")


def deleter(adapter: ProviderAdapter) -> SupportsDelete:
    """Give what deletes models."""
    if isinstance(adapter, SupportsDelete):
        return adapter
    raise cannot(adapter, "delete models")


def copier(adapter: ProviderAdapter) -> SupportsCopy:
    """Give what copies models."""
    if isinstance(adapter, SupportsCopy):
        return adapter
    raise cannot(adapter, "copy models")


def loader(adapter: ProviderAdapter) -> SupportsLoad:
    """Give what loads models."""
    if isinstance(adapter, SupportsLoad):
        return adapter
    raise cannot(adapter, "load models")


def keeper(adapter: ProviderAdapter) -> SupportsLoadFor:
    """Give what loads models for a time of one's own choice."""
    if isinstance(adapter, SupportsLoadFor):
        return adapter
    raise cannot(adapter, "be told how long to keep a model")


def unloader(adapter: ProviderAdapter) -> SupportsUnload:
    """Give what unloads models."""
    if isinstance(adapter, SupportsUnload):
        return adapter
    raise cannot(adapter, "unload models")


def runner(adapter: ProviderAdapter) -> SupportsRunning:
    """Give what tells which models are loaded."""
    if isinstance(adapter, SupportsRunning):
        return adapter
    raise cannot(adapter, "list the loaded models")


@asynccontextmanager
async def pulling(
    adapter: ProviderAdapter, name: str
) -> AsyncIterator[AsyncIterator[PullProgress]]:
    """Fetch a model; leaving the block, by any road, has stopped it."""
    progress = puller(adapter).pull_model(name)
    async with AsyncExitStack() as stack:
        if isinstance(progress, AbstractAsyncContextManager):
            await stack.enter_async_context(progress)
        elif (close := getattr(progress, "aclose", None)) is not None:
            stack.push_async_callback(close)
        yield _Progress(adapter, progress)


class _Progress(AsyncIterator[PullProgress]):
    """The progress of an adapter, which may be code of others."""

    def __init__(self, adapter: ProviderAdapter, progress: AsyncIterator[PullProgress]) -> None:
        self._adapter = adapter
        self._progress = progress

    async def __anext__(self) -> PullProgress:
        with translated(self._adapter, "download a model"):
            try:
                return await anext(self._progress)
            except StopAsyncIteration:
                pass
        raise StopAsyncIteration
