"""Questions to adapters, which may be code of others: nothing that they raise or give is trusted.

An adapter of a plugin or a program may raise anything and answer anything; what comes of it here
is models, or an `AIError`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, NoneType
from typing import Any

from ollm_tui.config.foreign import Redact, foreign_code
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderAdapter, SupportsList, SupportsRunning, SupportsShow

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
