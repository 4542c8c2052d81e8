"""What can be done with the models of any provider, or the sentence that it cannot be done.

Each function gives the adapter as the Protocol that the deed needs.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from types import MappingProxyType, NoneType
from typing import Any

from ollm_tui.config.foreign import Redact, foreign_code
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsCopy,
    SupportsDelete,
    SupportsList,
    SupportsLoad,
    SupportsLoadFor,
    SupportsPull,
    SupportsRunning,
    SupportsShow,
    SupportsUnload,
)
from ollm_tui.providers.base import UnusableProvider


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


_FIELDS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "name": (str,),
        "label": (str, NoneType),
        "description": (str, NoneType),
        "size_bytes": (int, NoneType),
        "modified_at": (str, NoneType),
        "capability": (ModelCapability, NoneType),
        "context": (int, NoneType),
        "loaded": (bool, NoneType),
        "details": (Mapping,),
        "told": (frozenset, NoneType),
        "chosen": (frozenset,),
    }
)
"""What the fields of a `ModelInfo` hold."""


@contextmanager
def translated(adapter: ProviderAdapter, failed_to: str, redact: Redact = str) -> Iterator[None]:
    """Make an `AIError` of whatever an adapter raises, without the secrets that `redact` knows."""

    def problem(error: BaseException) -> AIError:
        return AIError(
            ErrorCode.ENGINE_ERROR,
            f"{adapter.label} could not {failed_to} ({type(error).__name__}).",
            hint="The log has the details.",
            provider=adapter.name,
        )

    with foreign_code(f"The provider {adapter.name} could not {failed_to}", problem, redact):
        yield


async def list_models(adapter: SupportsList, redact: Redact = str) -> tuple[ModelInfo, ...]:
    """Ask for all models.

    Raises:
        AIError: they could not be listed.
    """
    with translated(_named(adapter), "list its models", redact):
        return _models(adapter, await adapter.list_models(), "list_models")


async def list_running(adapter: SupportsRunning, redact: Redact = str) -> tuple[ModelInfo, ...]:
    """Ask for the loaded models.

    Raises:
        AIError: they could not be listed.
    """
    with translated(_named(adapter), "list the loaded models", redact):
        return _models(adapter, await adapter.list_running(), "list_running")


async def show_model(adapter: SupportsShow, name: str, redact: Redact = str) -> ModelInfo:
    """Ask what is known of a model.

    Raises:
        AIError: it could not be shown.
    """
    with translated(_named(adapter), "show a model", redact):
        return _model(adapter, await adapter.show_model(name), "show_model")


def _named(adapter: Any) -> ProviderAdapter:
    return adapter  # type: ignore[no-any-return]


def _models(adapter: object, given: object, method: str) -> tuple[ModelInfo, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise _wrong(adapter, method, type(given).__name__)
    return tuple(_model(adapter, one, method) for one in given)


def _model(adapter: object, given: object, method: str) -> ModelInfo:
    if not isinstance(given, ModelInfo):
        raise _wrong(adapter, method, f"{type(given).__name__} in place of ModelInfo")
    for name, types in _FIELDS.items():
        value = getattr(given, name)
        if not isinstance(value, types):
            raise _wrong(adapter, method, f"ModelInfo.{name} as {type(value).__name__}")
    return given


def _wrong(adapter: object, method: str, given: str) -> AIError:
    owner = _named(adapter)
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"{owner.label} gave an unusable answer: {method} returned {given}.",
        hint="Update the plugin that provides it.",
        provider=owner.name,
    )
