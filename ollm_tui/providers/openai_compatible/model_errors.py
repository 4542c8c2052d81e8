"""What goes wrong with a server's models, apart from answers: one sentence for each case."""

from collections.abc import Iterable
from difflib import get_close_matches
from http import HTTPStatus

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.http_faults import Endpoint

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
