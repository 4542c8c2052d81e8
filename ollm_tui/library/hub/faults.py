"""A hub's refusals as sentences, each with a next step."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.retry_after import LONGEST_S, retry_after
from ollm_tui.protocol.errors import AIError, ErrorCode

OFFLINE = "the built-in list still works offline"
_MOST_CHARS = 300
_BROKE_OFF = ErrorCode.STREAM_INCOMPLETE
_RESET = re.compile(r"(?:^|[;,\s])t=(\d{1,6})(?:$|[;,\s])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRequest:
    """What a hub was asked."""

    place: str
    """The hub as messages name it."""
    repo: str | None = None
    revision: str = "main"
    has_token: bool = False

    @property
    def page(self) -> str:
        """Where a person reads and accepts a repository's terms."""
        return f"{self.place}/{self.repo}"


def status_error(
    asked: HubRequest,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
    *,
    is_data: bool = True,
) -> AIError:
    """Translate an answer whose status is no success; `is_data` unless a web page came with it."""
    if 400 <= status < 500 and (known := _of_person(asked, status, headers, is_data)) is not None:
        return known
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _too_often(asked, status, headers, now)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _troubled(asked, status, headers, now)
    said = headers.get("x-error-message", "")
    words = f": {clean_line(said)[:_MOST_CHARS]}" if said else ""
    return _error(
        ErrorCode.BAD_REQUEST,
        f"{asked.place} does not answer this (HTTP {status}){words}.",
        "Check HF_ENDPOINT, if it is set: it may name no hub of model files.",
        status,
    )


def _of_person(
    asked: HubRequest, status: int, headers: Mapping[str, str], is_data: bool
) -> AIError | None:
    """Translate what is about who asks, and for what."""
    code = headers.get("x-error-code", "")
    if code == "GatedRepo":
        return _gated(asked, status)
    if status == HTTPStatus.UNAUTHORIZED and asked.has_token:
        return _bad_token(asked, status)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return _not_there(asked, status, code, is_data=is_data)
    if status == HTTPStatus.FORBIDDEN:
        return _error(
            ErrorCode.AUTH_FAILED,
            f"{asked.place} refuses access{_about(asked)}.",
            "Set HF_TOKEN to a token that may read it.",
            status,
        )
    return None


def file_refused(place: str, repo: str, cause: AIError, token: str | None) -> AIError:
    """Say what lets a file be fetched that the hub keeps from who asks."""
    page = f"{place}/{clean_line(repo)[:_MOST_CHARS]}"
    lets = "use a token of that account" if token else "set HF_TOKEN"
    return AIError(
        cause.code,
        cause.message,
        hint=f"Accept its terms at {page}, if it has any, and {lets}.",
        status=cause.status,
        details=cause.details,
    )


def unreachable(place: str, cause: AIError) -> AIError:
    """Say that nobody answered, or not to the end; why stands in the details."""
    known = cause.known_code is ErrorCode.SERVICE_UNAVAILABLE and cause.hint
    what = "broke off its answer" if cause.known_code is _BROKE_OFF else "does not answer"
    return AIError(
        cause.code,
        f"The hub at {place} {what}; {OFFLINE}.",
        hint=known or "Check the network connection, and HF_ENDPOINT if it is set.",
        details={**cause.details, "reason": cause.message},
        retryable=cause.retryable,
    )


def not_a_hub(place: str, what: str) -> AIError:
    """Say that something else than a hub answered; `what` completes "… answered with"."""
    return AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{place} answered with {what}, not as a hub of model files.",
        hint="Check HF_ENDPOINT, and whether a proxy or a login page stands in between; "
        f"{OFFLINE}.",
    )


def invalid_repo_name(text: str) -> AIError:
    """Say that this cannot be a repository."""
    shown = clean_line(text)[:80]
    return AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"`{shown}` is not the name of a repository.",
        hint="Write it as owner/name.",
    )


def _gated(asked: HubRequest, status: int) -> AIError:
    account = " with the account of your token" if asked.has_token else ", then set HF_TOKEN"
    return _error(
        ErrorCode.AUTH_FAILED,
        f"{asked.repo} is gated: its terms must be accepted first.",
        f"Accept its terms at {asked.page}{account}.",
        status,
    )


def _bad_token(asked: HubRequest, status: int) -> AIError:
    return _error(
        ErrorCode.AUTH_FAILED,
        f"{asked.place} does not accept the token.",
        f"Make a new one at {asked.place}/settings/tokens and set HF_TOKEN, or unset it.",
        status,
    )


def _not_there(asked: HubRequest, status: int, code: str, *, is_data: bool) -> AIError:
    if asked.repo is None or (not is_data and not code):
        return not_a_hub(asked.place, f"HTTP {status}")
    if code == "RevisionNotFound":
        revision = clean_line(asked.revision)[:80]
        message = f"{asked.repo} has no revision {revision}."
        return _error(ErrorCode.MODEL_NOT_FOUND, message, "Leave it out for the newest.", status)
    private = "" if asked.has_token else ", or it is private"
    return _error(
        ErrorCode.MODEL_NOT_FOUND,
        f"{asked.repo} is not on {asked.place}{private}.",
        "Check the name, or search for it."
        + ("" if asked.has_token else " For a private one set HF_TOKEN."),
        status,
    )


def _too_often(
    asked: HubRequest, status: int, headers: Mapping[str, str], now: datetime
) -> AIError:
    wait = retry_after(headers, {}, now)
    if wait is None and (found := _RESET.search(headers.get("ratelimit", ""))):
        wait = float(found[1]) if float(found[1]) <= LONGEST_S else None
    when = "Wait a little" if wait is None else f"Wait {max(1, round(wait))} s"
    more = "" if asked.has_token else "; with a token in HF_TOKEN the limit is higher"
    return _error(
        ErrorCode.RATE_LIMITED,
        f"{asked.place} received too many requests.",
        f"{when} and try again{more}.",
        status,
        wait,
    )


def _troubled(asked: HubRequest, status: int, headers: Mapping[str, str], now: datetime) -> AIError:
    return _error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{asked.place} has a server error (HTTP {status}).",
        f"Try again later; {OFFLINE}.",
        status,
        retry_after(headers, {}, now),
    )


def _error(
    code: ErrorCode, message: str, hint: str, status: int, wait: float | None = None
) -> AIError:
    return AIError(
        code,
        message,
        hint=hint,
        status=status,
        details={} if wait is None else {"retry_after_s": wait},
        retryable=code in (ErrorCode.RATE_LIMITED, ErrorCode.SERVICE_UNAVAILABLE),
    )


def _about(asked: HubRequest) -> str:
    return f" to {asked.repo}" if asked.repo else ""
