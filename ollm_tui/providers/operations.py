"""Operations on the models of any provider, and guarded calls of adapters.

An adapter of a plugin may raise and return anything; this module returns models or an `AIError`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from types import NoneType
from typing import Any

from ollm_tui.config.foreign import Redact, foreign_code
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsList,
    SupportsPull,
    SupportsRunning,
    SupportsShow,
)
from ollm_tui.providers.base import UnusableProvider


def cannot(adapter: ProviderAdapter, action: str) -> AIError:
    """Make the error for an unsupported operation, or for an adapter with invalid settings."""
    if isinstance(adapter, UnusableProvider):
        return adapter.problem
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE, f"{adapter.label} cannot {action}.", provider=adapter.name
    )


def has_method(adapter: ProviderAdapter, name: str) -> bool:
    """Return whether an adapter has a method of an optional port."""
    return getattr(adapter, name, None) is not None


def method_of(adapter: ProviderAdapter, action: ModelAction) -> Callable[..., Awaitable[Any]]:
    """Return the method of an adapter that runs an action.

    Raises:
        AIError: the adapter does not have it.
    """
    known = ACTIONS[action]
    if not has_method(adapter, known.methods[0]):
        raise cannot(adapter, known.refused_ability or known.ability)
    method: Callable[..., Awaitable[Any]] = getattr(adapter, known.methods[0])
    return method


def puller(adapter: ProviderAdapter) -> SupportsPull:
    """Return the adapter if it can download models."""
    if isinstance(adapter, SupportsPull):
        return adapter
    raise cannot(adapter, "pull models")


@asynccontextmanager
async def pulling(
    adapter: ProviderAdapter, name: str
) -> AsyncIterator[AsyncIterator[PullProgress]]:
    """Download a model; leaving the block stops the download."""
    progress = puller(adapter).pull_model(name)
    async with AsyncExitStack() as stack:
        if isinstance(progress, AbstractAsyncContextManager):
            await stack.enter_async_context(progress)
        elif (close := getattr(progress, "aclose", None)) is not None:
            stack.push_async_callback(close)
        yield _Progress(adapter, progress)


class _Progress(AsyncIterator[PullProgress]):
    """The progress of an adapter, which may be foreign code."""

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


_FIELDS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "label": (str, NoneType),
    "description": (str, NoneType),
    "size_bytes": (int, NoneType),
    "modified_at": (str, NoneType),
    "capability": (ModelCapability, NoneType),
    "context": (int, NoneType),
    "loaded": (bool, NoneType),
    "details": (Mapping,),
    "reported": (frozenset, NoneType),
    "chosen": (frozenset,),
}
"""The types of the fields of a `ModelInfo`."""


@contextmanager
def translated(adapter: ProviderAdapter, failed_to: str, redact: Redact = str) -> Iterator[None]:
    """Turn what an adapter raises into an `AIError`, without the secrets that `redact` knows."""

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
    """List all models.

    Raises:
        AIError: They could not be listed.
    """
    with translated(_named(adapter), "list its models", redact):
        return _models(adapter, await adapter.list_models(), "list_models")


async def list_running(adapter: SupportsRunning, redact: Redact = str) -> tuple[ModelInfo, ...]:
    """List the loaded models.

    Raises:
        AIError: They could not be listed.
    """
    with translated(_named(adapter), "list the loaded models", redact):
        return _models(adapter, await adapter.list_running(), "list_running")


async def show_model(adapter: SupportsShow, name: str, redact: Redact = str) -> ModelInfo:
    """Describe a model.

    Raises:
        AIError: It could not be described.
    """
    with translated(_named(adapter), "show a model", redact):
        return _model(adapter, await adapter.show_model(name), "show_model")


def _named(adapter: Any) -> ProviderAdapter:
    return adapter  # type: ignore[no-any-return]


def _models(adapter: object, models: object, method: str) -> tuple[ModelInfo, ...]:
    if not isinstance(models, Iterable) or isinstance(models, str | bytes):
        raise _wrong(adapter, method, type(models).__name__)
    return tuple(_model(adapter, one, method) for one in models)


def _model(adapter: object, info: object, method: str) -> ModelInfo:
    if not isinstance(info, ModelInfo):
        raise _wrong(adapter, method, f"{type(info).__name__} in place of ModelInfo")
    for name, types in _FIELDS.items():
        value = getattr(info, name)
        if not isinstance(value, types):
            raise _wrong(adapter, method, f"ModelInfo.{name} as {type(value).__name__}")
    return info


def _wrong(adapter: object, method: str, returned: str) -> AIError:
    owner = _named(adapter)
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"{owner.label} gave an unusable answer: {method} returned {returned}.",
        hint="Update the plugin that provides it.",
        provider=owner.name,
    )
