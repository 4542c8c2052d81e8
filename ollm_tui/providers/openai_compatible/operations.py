"""TODO."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from difflib import get_close_matches
from http import HTTPStatus
from typing import TypeVar

import anyio

from ollm_tui.decode.json_fields import as_object, positive
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.refusals import PASSING

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 1.0
MOST_FAILURES = 5
"""So many questions in a row may fail: with the waits, a few seconds."""
_UNREACHED = frozenset({ErrorCode.TIMEOUT, ErrorCode.SERVICE_UNAVAILABLE})

T = TypeVar("T")


async def paced() -> AsyncIterator[None]:
    """Give a turn at once, and further ones after ever longer waits."""
    wait = FIRST_WAIT_S
    while True:
        yield
        await anyio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_S)


async def followed(ask: Callable[[], Awaitable[T]]) -> AsyncIterator[T]:
    """Give what a server says of its own work, again and again; failures that may pass are passed.

    Raises:
        AIError: a failure that does not pass, or one too many in a row.
    """
    failures = 0
    async for _ in paced():
        try:
            told = await ask()
        except AIError as error:
            failures += 1
            if failures > MOST_FAILURES or not _may_pass(error):
                raise
        else:
            failures = 0
            yield told


def _may_pass(error: AIError) -> bool:
    """Whether the server was not reached or is busy: its work goes on all the same."""
    if error.status is not None:
        return error.status in PASSING
    return error.retryable and error.code in _UNREACHED


LONGEST_REASON = 500
"""Characters of what a server says about a failure."""


def no_such_model(place: Endpoint, name: str, known: Iterable[str] = ()) -> AIError:
    """The server does not have the model, nor can it be had there."""
    near = get_close_matches(name, list(known), n=3)
    return AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"{place.label} has no model {name}.",
        hint=f"It has {', '.join(near)}." if near else place.model_hint,
        provider=place.provider,
    )


def not_listed(place: Endpoint, error: AIError) -> AIError:
    """The server failed over its own list; it may chat with a model that is named to it."""
    if error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        return error
    said = error.message.removeprefix(f"{place.label} failed: ")
    return AIError(
        error.code,
        f"{place.label} could not list its models: {said}",
        hint=f"Name one, as in --model {place.provider}://NAME, or check the server's log.",
        status=error.status,
        provider=place.provider,
        details=error.details,
        retryable=error.retryable,
    )


def not_loaded(place: Endpoint, name: str, reason: str | None) -> AIError:
    """The server tried, and the model is not in memory."""
    return AIError(
        ErrorCode.MODEL_NOT_LOADED,
        f"{place.label} could not load {name}{_because(place, reason)}.",
        hint="The server's log says why; a smaller model or window may fit.",
        provider=place.provider,
    )


def not_pulled(place: Endpoint, name: str, reason: str | None) -> AIError:
    """A download on the server's side failed."""
    return AIError(
        ErrorCode.ENGINE_ERROR,
        f"{place.label} could not download {name}{_because(place, reason)}.",
        hint="Ask again: it goes on where it stopped, where the server can.",
        provider=place.provider,
    )


def not_removable(place: Endpoint, name: str, reason: str) -> AIError:
    """The server lists the model, and it is not among those that it fetched itself."""
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{name} cannot be deleted from here.",
        hint=reason,
        provider=place.provider,
    )


def too_old(place: Endpoint, action: str, version: str) -> AIError:
    """The server's version has no way to do this."""
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"This version of {place.label} cannot {action}.",
        hint=f"It can from {version} on.",
        provider=place.provider,
    )


def _because(place: Endpoint, reason: str | None) -> str:
    if not reason:
        return ""
    told = place.redacted(reason).strip().rstrip(".")
    return f": {told[:LONGEST_REASON]}{' …' if len(told) > LONGEST_REASON else ''}"


def tokens_told(reply: JsonValue, key: str) -> int:
    """Give the number under `key`.

    Raises:
        AIError: ENGINE_ERROR when there is none.
    """
    count = positive(as_object(reply), key)
    if count is None:
        raise uncounted()
    return count


def tokens_listed(reply: JsonValue, key: str) -> int:
    """Give the length of the list under `key`.

    Raises:
        AIError: ENGINE_ERROR when there is none, or nothing in it.
    """
    found = as_object(reply).get(key)
    if not isinstance(found, list) or not found:
        raise uncounted()
    return len(found)


def uncounted() -> AIError:
    """The server answered, but not what was asked."""
    return AIError(ErrorCode.ENGINE_ERROR, "The server's reply has no token count.")
