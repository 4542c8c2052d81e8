"""The errors of a hub, each with a hint on what to do."""

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.retry_after import MAX_WAIT_S, retry_after
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

OFFLINE = "the built-in list still works offline"
_MAX_CHARS = 300
_RESET = lazy_re(r"(?:^|[;,\s])t=(\d{1,6})(?:$|[;,\s])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRequest:
    """A request, as described in error messages."""

    hub: str
    """The hub's address, as shown in messages."""
    repo: str | None = None
    revision: str = "main"
    has_token: bool = False


def status_error(
    request: HubRequest,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
    *,
    is_data: bool = True,
) -> AIError:
    """Translate an error status; `is_data` is False if the body is a web page."""
    known = _access_error(request, status, headers, is_data) if 400 <= status < 500 else None
    if known is not None:
        return known
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _rate_limited(request, status, headers, now)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _error(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"{request.hub} has a server error (HTTP {status}).",
            f"Try again later; {OFFLINE}.",
            status,
            retry_after(headers, {}, now),
        )
    message = headers.get("x-error-message", "")
    words = f": {clean_line(message)[:_MAX_CHARS]}" if message else ""
    return _error(
        ErrorCode.BAD_REQUEST,
        f"{request.hub} does not answer this (HTTP {status}){words}.",
        "Check HF_ENDPOINT, if it is set: it may name no hub of model files.",
        status,
    )


def _access_error(
    request: HubRequest, status: int, headers: Mapping[str, str], is_data: bool
) -> AIError | None:
    code = headers.get("x-error-code", "")
    if code == "GatedRepo":
        account = " with the account of your token" if request.has_token else ", then set HF_TOKEN"
        message = f"{request.repo} is gated: its terms must be accepted first."
        hint = f"Accept its terms at {request.hub}/{request.repo}{account}."
    elif status == HTTPStatus.UNAUTHORIZED and request.has_token:
        message = f"{request.hub} does not accept the token."
        hint = f"Make a new one at {request.hub}/settings/tokens and set HF_TOKEN, or unset it."
    elif status == HTTPStatus.FORBIDDEN:
        about = f" to {request.repo}" if request.repo else ""
        message = f"{request.hub} refuses access{about}."
        hint = "Set HF_TOKEN to a token that may read it."
    elif status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return _not_found(request, status, code, is_data=is_data)
    else:
        return None
    return _error(ErrorCode.AUTH_FAILED, message, hint, status)


def file_refused(hub: str, repo: str, cause: AIError, token: str | None) -> AIError:
    """Return the error for a file that needs permission; the hint says how to get it."""
    page = f"{hub}/{clean_line(repo)[:_MAX_CHARS]}"
    how = "use a token of that account" if token else "set HF_TOKEN"
    return AIError(
        cause.code,
        cause.message,
        hint=f"Accept its terms at {page}, if it has any, and {how}.",
        status=cause.status,
        details=cause.details,
    )


def unreachable(hub: str, cause: AIError) -> AIError:
    """Return the error for no or an incomplete reply; `details["reason"]` has the cause."""
    known_hint = cause.known_code is ErrorCode.SERVICE_UNAVAILABLE and cause.hint
    is_broken = cause.known_code is ErrorCode.STREAM_INCOMPLETE
    what = "broke off its answer" if is_broken else "does not answer"
    return AIError(
        cause.code,
        f"The hub at {hub} {what}; {OFFLINE}.",
        hint=known_hint or "Check the network connection, and HF_ENDPOINT if it is set.",
        details={**cause.details, "reason": cause.message},
        retryable=cause.retryable,
    )


def not_a_hub(hub: str, what: str) -> AIError:
    """Return the error for a reply of something else; `what` completes "... answered with"."""
    return AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{hub} answered with {what}, not as a hub of model files.",
        hint="Check HF_ENDPOINT, and whether a proxy or a login page stands in between; "
        f"{OFFLINE}.",
    )


def invalid_repo_name(text: str) -> AIError:
    """Return the error for an invalid repository name."""
    message = f"`{clean_line(text)[:80]}` is not the name of a repository."
    return AIError(ErrorCode.MODEL_NOT_FOUND, message, hint="Write it as owner/name.")


def _not_found(request: HubRequest, status: int, code: str, *, is_data: bool) -> AIError:
    if request.repo is None or (not is_data and not code):
        return not_a_hub(request.hub, f"HTTP {status}")
    if code == "RevisionNotFound":
        revision = clean_line(request.revision)[:80]
        message = f"{request.repo} has no revision {revision}."
        return _error(ErrorCode.MODEL_NOT_FOUND, message, "Leave it out for the newest.", status)
    private = "" if request.has_token else ", or it is private"
    return _error(
        ErrorCode.MODEL_NOT_FOUND,
        f"{request.repo} is not on {request.hub}{private}.",
        "Check the name, or search for it."
        + ("" if request.has_token else " For a private one set HF_TOKEN."),
        status,
    )


def _rate_limited(
    request: HubRequest, status: int, headers: Mapping[str, str], now: datetime
) -> AIError:
    wait = retry_after(headers, {}, now)
    if wait is None and (match := _RESET.search(headers.get("ratelimit", ""))):
        wait = float(match[1]) if float(match[1]) <= MAX_WAIT_S else None
    when = "Wait a little" if wait is None else f"Wait {max(1, round(wait))} s"
    more = "" if request.has_token else "; with a token in HF_TOKEN the limit is higher"
    return _error(
        ErrorCode.RATE_LIMITED,
        f"{request.hub} received too many requests.",
        f"{when} and try again{more}.",
        status,
        wait,
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
