"""What the backends' operations on models share: polling of jobs, and errors."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.refusals import not_offered
from ollm_tui.providers.refusals import NO_SUCH_PATH, TRANSIENT

FIRST_WAIT_S = 0.05
MAX_WAIT_S = 1.0
MAX_FAILURES = 5
"""How many requests in a row may fail: with the waits, a few seconds."""
_UNREACHABLE = frozenset({ErrorCode.TIMEOUT, ErrorCode.SERVICE_UNAVAILABLE})
MAX_STATUS_CHARS = 200
MAX_REASON_CHARS = 500
T = TypeVar("T")


async def poll_ticks() -> AsyncIterator[None]:
    """Yield at once, and again after ever longer waits, up to `MAX_WAIT_S`."""
    wait = FIRST_WAIT_S
    while True:
        yield
        await anyio.sleep(wait)
        wait = min(2 * wait, MAX_WAIT_S)


async def poll(ask: Callable[[], Awaitable[T]]) -> AsyncIterator[T]:
    """Yield the reply of `ask` again and again, past failures that are transient.

    Raises:
        AIError: a failure that is not transient, or one too many in a row.
    """
    failures = 0
    async for _ in poll_ticks():
        try:
            reply = await ask()
        except AIError as error:
            failures += 1
            if failures > MAX_FAILURES or not _is_transient(error):
                raise
        else:
            failures = 0
            yield reply


def shown_status(endpoint: Endpoint, status: str) -> str:
    """Return a job's status as it may be shown."""
    return endpoint.redacted(status)[:MAX_STATUS_CHARS]


def _is_transient(error: AIError) -> bool:
    """Whether the server is busy or was not reached: its job continues all the same."""
    if error.status is not None:
        return error.status in TRANSIENT
    return error.retryable and error.code in _UNREACHABLE


@contextmanager
def offered(endpoint: Endpoint, what: str) -> Iterator[None]:
    """Explain an unknown path as something that the server does not offer, such as embeddings."""
    try:
        yield
    except AIError as error:
        if error.status not in NO_SUCH_PATH or error.code != ErrorCode.BAD_REQUEST:
            raise
        refusal = not_offered(endpoint.label_and_address, what)
        refusal.status, refusal.provider = error.status, endpoint.provider
        raise refusal from error


def draws_only(endpoint: Endpoint, name: str) -> AIError:
    """A prompt was sent to a model that only draws."""
    return endpoint.error(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{name} draws and does not chat.",
        "`/image` and `ollm draw` use it; choose another model to chat with.",
    )


def no_such_model(endpoint: Endpoint, name: str, known: Iterable[str] = ()) -> AIError:
    """The server neither has the model nor can get it."""
    # Loaded only for a name that is not known.
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    hint = f"It has {', '.join(near)}." if near else endpoint.model_hint
    return endpoint.error(ErrorCode.MODEL_NOT_FOUND, f"{endpoint.label} has no model {name}.", hint)


def not_listed(endpoint: Endpoint, error: AIError) -> AIError:
    """The server failed to list its models; it may chat with one by name all the same."""
    if error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        return error
    reason = error.message.removeprefix(f"{endpoint.label} failed: ")
    return AIError(
        error.code,
        f"{endpoint.label} could not list its models: {reason}",
        hint=f"Name one, as in --model {endpoint.provider}://NAME, or check the server's log.",
        status=error.status,
        provider=endpoint.provider,
        details=error.details,
        retryable=error.retryable,
    )


def not_loaded(endpoint: Endpoint, name: str, reason: str | None) -> AIError:
    """The server could not load the model."""
    return endpoint.error(
        ErrorCode.MODEL_NOT_LOADED,
        f"{endpoint.label} could not load {name}{_because(endpoint, reason)}.",
        "The server's log says why; a smaller model or window may fit.",
    )


def not_pulled(endpoint: Endpoint, name: str, reason: str | None) -> AIError:
    """A download by the server failed."""
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} could not download {name}{_because(endpoint, reason)}.",
        "Try again: it resumes where it stopped, if the server can.",
    )


def not_removable(endpoint: Endpoint, name: str, reason: str) -> AIError:
    """The model is not among those that the server downloaded itself."""
    return endpoint.error(
        ErrorCode.UNSUPPORTED_FEATURE, f"{name} cannot be deleted from here.", reason
    )


def too_old(endpoint: Endpoint, action: str, version: str) -> AIError:
    """The server's version cannot do this."""
    message = f"This version of {endpoint.label} cannot {action}."
    hint = f"It can from {version} on."
    return endpoint.error(ErrorCode.UNSUPPORTED_FEATURE, message, hint)


def _because(endpoint: Endpoint, reason: str | None) -> str:
    if not reason:
        return ""
    shown = endpoint.redacted(reason).strip().rstrip(".")
    return f": {shown[:MAX_REASON_CHARS]}{' …' if len(shown) > MAX_REASON_CHARS else ''}"
