"""What a server reports as a failure, as one `AIError`: a response, an error object, a bad end.

Servers share no codes, so the category of a failure follows from its status and phrases.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import integer, present, string, strings
from ollm_tui.decode.retry_after import retry_after
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.providers.body.error_body import (
    ErrorBody,
    is_markup,
    read_error_body,
    read_error_text,
    read_error_value,
)
from ollm_tui.providers.http_faults import CUT, EMPTY, PROXY_WANTS_PASSWORD, WEB_PAGE, Endpoint
from ollm_tui.providers.refusals import is_overflow, overflow_sizes, refuses_tools

Category: TypeAlias = Literal[
    "auth", "not_found", "bad_request", "unsupported", "context_overflow", "content_filter",
    "rate_limit", "quota", "overloaded", "server", "out_of_memory", "timeout", "cancelled",
]  # fmt: skip

_UNSUPPORTED = lazy_re(
    r"does not support (chat|tools|thinking|completions?)|--jinja|tool choice requires"
)
_NOT_READ = lazy_re(r'option "\w+" must be of type|invalid format: .*expected "json"')
"""A value in the request that Ollama refuses with status 500."""
_NO_PICTURES = lazy_re(
    r"(?:image|picture|vision|multi-?modal)s?(?: inputs?)? (?:is|are) not supported"
    r"|(?:not|n't) support (?:image|picture|vision|multi-?modal)|not a multi-?modal model"
    r"|\bat most 0 image|missing data required for image input"
    r"|endpoints found that support image input|image_url is only supported by",
    re.IGNORECASE,
)
"""A model for text only, by the words of llama.cpp, vLLM, Ollama, OpenAI and OpenRouter."""
_NOT_LOADED = lazy_re(r"\bmodel name=\S+ failed to load|\bfailed to load model\b", re.IGNORECASE)
_NOT_REMOVABLE = lazy_re(r"\bis not removable\b")
_NO_PATH = lazy_re(
    r"(?:404:? |file |page |path |route |resource )*not found(?: \(404\))?\.?"
    r"|(?:invalid url|unexpected endpoint|unknown (?:endpoint|path|route|url)|no route|cannot "
    r"(?:get|post|delete) /).*",
    re.IGNORECASE | re.DOTALL,
)
"""How servers say in JSON that a path, and not a model, does not exist."""
_MEMORY = lazy_re(r"out of memory|requires more system memory|cudaMalloc failed", re.IGNORECASE)
_FILTER = lazy_re(r"content_filter|content_policy|responsible ?ai", re.IGNORECASE)
_QUOTA = lazy_re(r"insufficient_quota|billing_hard_limit|credit balance is too low")
_BEFORE_OVERFLOW = lazy_re(f"{_QUOTA.pattern}|(?i:{_MEMORY.pattern})")
"""What counts more than a full context window in the same message."""
_NO_MODEL = lazy_re(r"model_not_found|model \S+ not found|invalid model name passed", re.IGNORECASE)
_BAD_KEY = lazy_re(
    # LiteLLM without a database looks there for every key that is not its own.
    r"invalid_api_key|incorrect api key|API_KEY_INVALID|no_db_connection",
    re.IGNORECASE,
)
_CATEGORIES: tuple[tuple[re.Pattern[str], Category], ...] = (
    (_QUOTA, "quota"),
    (_MEMORY, "out_of_memory"),
    (_UNSUPPORTED, "unsupported"),
    (_NO_PICTURES, "unsupported"),
    (_NOT_REMOVABLE, "bad_request"),
    (_BAD_KEY, "auth"),
    (_NO_MODEL, "not_found"),
    (_FILTER, "content_filter"),
    (_NOT_READ, "bad_request"),
)
"""The category of a failure by the server's words; the first match counts."""
_CODES_BY_STATUS: Mapping[int, ErrorCode] = {
    HTTPStatus.CONFLICT: ErrorCode.CONFLICT,
    HTTPStatus.NOT_IMPLEMENTED: ErrorCode.NOT_IMPLEMENTED,
}
CHECK_KEY = "Check the API key of this provider."
_WAIT = "Wait a moment and try again."


@dataclass(frozen=True, slots=True)
class _Kind:
    """What follows from a category of failure, and the statuses that mean it without words."""

    code: ErrorCode
    hint: str | None = None
    statuses: tuple[int, ...] = ()
    is_transient: bool = False


_KINDS: Mapping[Category, _Kind] = {
    "auth": _Kind(ErrorCode.AUTH_FAILED, CHECK_KEY, (401, 403, 407)),
    "not_found": _Kind(ErrorCode.MODEL_NOT_FOUND, None, (404, 410)),
    "bad_request": _Kind(ErrorCode.BAD_REQUEST),
    "unsupported": _Kind(ErrorCode.UNSUPPORTED_FEATURE, "Choose another model for this.", (501,)),
    "context_overflow": _Kind(
        ErrorCode.CONTEXT_LENGTH_EXCEEDED,
        "Start a new chat, shorten the prompt, or give the model a larger window.",
    ),
    "content_filter": _Kind(ErrorCode.CONTENT_FILTERED, "Rephrase the prompt.", (451,)),
    "rate_limit": _Kind(ErrorCode.RATE_LIMITED, _WAIT, (429,), is_transient=True),
    "quota": _Kind(
        ErrorCode.RATE_LIMITED, "Check the plan and the billing of this account.", (402,)
    ),
    "overloaded": _Kind(
        ErrorCode.SERVICE_UNAVAILABLE, _WAIT, (409, 502, 503, 529), is_transient=True
    ),
    "server": _Kind(
        ErrorCode.INTERNAL_ERROR,
        "Try again; if it persists, check the server's log.",
        is_transient=True,
    ),
    "out_of_memory": _Kind(
        ErrorCode.OUT_OF_MEMORY,
        "Choose a smaller model or a smaller context window, or unload others.",
    ),
    "timeout": _Kind(
        ErrorCode.TIMEOUT,
        "Try again; a large model may still be loading.",
        (408, 504),
        is_transient=True,
    ),
    "cancelled": _Kind(ErrorCode.ABORTED, None, (499,)),
}
_STATUSES = {status: category for category, kind in _KINDS.items() for status in kind.statuses}
_NOT_LOADED_HINT = "The server's log says why; a smaller model or window may fit."
_NO_WORDS = frozenset({"", "internal server error", "http 500 internal server error", "error"})
_WRONG_PATH = "Check the server's address: it may lack a path, or have one too many."


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers of a response; header names are lower case."""

    status: int
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status_line(self) -> str:
        """The status as `HTTP 404 Not Found`; the usual phrase stands in for a missing reason."""
        reason = self.reason
        if not reason:
            with suppress(ValueError):
                reason = HTTPStatus(self.status).phrase
        return f"HTTP {self.status} {reason}".strip()


def http_error(head: Head, body: bytes, endpoint: Endpoint) -> AIError:
    """Translate a response whose status is not a success."""
    if 300 <= head.status < 400:
        return _redirect(head, endpoint)
    if head.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and endpoint.proxy:
        return endpoint.fault(PROXY_WANTS_PASSWORD)
    return _Failure(read_error_body(body), head, endpoint).error(head.status)


def stream_error(value: JsonObject, endpoint: Endpoint) -> AIError:
    """Translate an error object inside a response of status 200."""
    body = read_error_value(value)
    code = integer(body.fields, "code") or integer(body.fields, "status_code")
    status = code if code is not None and 400 <= code < 600 else None
    return _Failure(body, Head(status or 500), endpoint).error(status)


def text_error(text: str, endpoint: Endpoint) -> AIError:
    """Translate plain text that arrived where data was expected."""
    return _Failure(read_error_text(text.strip()), Head(500), endpoint).error(None)


def is_error(value: JsonObject, event: str = "message") -> bool:
    """Whether a reply is an error object; `"error": null` is not."""
    return bool(value.get("error")) or "error" in (value.get("object"), value.get("type"), event)


def generation_failed(endpoint: Endpoint, reason: str | None) -> AIError:
    """Make the error of an answer that the server ended with the finish reason of a failure."""
    named = "" if reason is None or reason.lower() == "error" else f" ({reason[:100]})"
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        endpoint.redacted(f"The server gave up in the middle of the answer{named}."),
        "Ask again.",
        fault="engine",
    )


def unfinished(endpoint: Endpoint, unreadable: str | None, *, is_empty: bool) -> AIError:
    """Make the error of a stream that ended without its end marker.

    `unreadable` is its first piece that could not be parsed, and is quoted: servers put their last
    words there as plain text. `is_empty` is whether no other piece arrived.
    """
    words = (unreadable or "").strip()
    if not words:
        return endpoint.fault(EMPTY) if is_empty else endpoint.fault(CUT)
    if is_markup(words):
        return endpoint.fault(WEB_PAGE)
    error = text_error(words, endpoint)
    error.retryable = False  # the server has answered
    if not is_empty:
        error.code = ErrorCode.STREAM_INCOMPLETE
        error.hint = "What arrived is kept; try again for the rest."
    return error


class _Failure:
    """What a server sent about one failure, and the error made of it."""

    def __init__(self, body: ErrorBody, head: Head, endpoint: Endpoint) -> None:
        self._body = body
        self._head = head
        self._endpoint = endpoint
        self._category = _category(body, head.status)

    def error(self, status: int | None) -> AIError:
        """Make the error; `status` is the one to report, or None if the server sent none."""
        message = self._endpoint.redacted(self._sentence())
        code = self._code(message)
        return AIError(
            code,
            message,
            hint=self._hint(),
            status=status,
            provider=self._endpoint.provider,
            details=self._details(),
            retryable=code is not ErrorCode.MODEL_NOT_LOADED and self._is_retryable(),
        )

    def _code(self, message: str) -> ErrorCode:
        category, status = self._category, self._head.status
        if status in _CODES_BY_STATUS:
            return _CODES_BY_STATUS[status]
        if category == "auth" and status == HTTPStatus.FORBIDDEN:
            return ErrorCode.PERMISSION_DENIED
        if category == "server" and _NOT_LOADED.search(message):
            return ErrorCode.MODEL_NOT_LOADED
        if category == "unsupported" and _NO_PICTURES.search(message):
            return ErrorCode.UNSUPPORTED_MODALITY
        if category == "not_found" and self._lacks_path:
            return ErrorCode.BAD_REQUEST  # the path is missing, not the model
        return _KINDS[category].code

    def _is_retryable(self) -> bool:
        match self._head.headers.get("x-should-retry", "").strip().lower():
            case "true":
                return True
            case "false":
                return False
            case _:
                return _KINDS[self._category].is_transient

    def _sentence(self) -> str:
        """Return the server's message, with the server's name where the message is bare."""
        body, endpoint = self._body, self._endpoint
        message = self._message()
        if self._is_about_key:
            wish = "rejected the API key" if endpoint.has_key else "requires an API key"
            return f"{endpoint.label} {wish}: {message}"
        if self._category == "not_found" and self._lacks_path:
            return f"{endpoint.label_and_address} does not know this path: {message}"
        is_bare = body.is_trace or message.strip(". ").lower() in _NO_WORDS
        if self._category == "server" and is_bare:
            return f"{endpoint.label} failed: {message}"
        return message

    def _message(self) -> str:
        message, status_line = self._body.message, self._head.status_line
        if self._body.is_html:
            return f"{status_line} ({message})" if message else status_line
        if self._body.is_cut and message:
            return f"{status_line}: {message} …"
        return message or status_line

    @property
    def _is_about_key(self) -> bool:
        """Whether the API key is wrong, and not what it permits or how to sign in."""
        others = (HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
        is_own = bool(self._endpoint.provider) and not string(self._body.fields, "signin_url")
        return self._category == "auth" and self._head.status not in others and is_own

    @property
    def _lacks_path(self) -> bool:
        message = (self._body.message or "").strip()
        return not self._body.is_json or _NO_PATH.fullmatch(message) is not None

    def _hint(self) -> str | None:
        category, endpoint = self._category, self._endpoint
        signin = string(self._body.fields, "signin_url")
        if category == "auth" and signin:
            return f"Sign in at {endpoint.redacted(signin)}"
        if self._is_about_key:
            if endpoint.has_key:
                return f"Check the API key of provider {endpoint.provider}."
            return f"Set api_key_env below [providers.{endpoint.provider}]."
        if category == "not_found":
            return _WRONG_PATH if self._lacks_path else endpoint.model_hint
        if category == "server" and _NOT_LOADED.search(self._body.message or ""):
            return _NOT_LOADED_HINT
        return _KINDS[category].hint

    def _details(self) -> JsonObject:
        body, redacted = self._body, self._endpoint.redacted
        details: dict[str, JsonValue] = {
            "category": self._category,
            "retry_after_s": retry_after(self._head.headers, body.fields, datetime.now(UTC)),
            "server_code": body.code,
            "server_type": body.type,
            "param": string(body.fields, "param"),
            "refused": [redacted(path) for path in strings(body.fields.get("refused"))] or None,
        }
        if self._category == "context_overflow":
            details |= overflow_sizes(body.message or "", body.fields)
        return {
            key: redacted(value) if isinstance(value, str) else value
            for key, value in present(details).items()
        }


def _category(body: ErrorBody, status: int) -> Category:
    words = f"{body.code} {body.type} {body.message or ''}"
    if status < 500 or status == HTTPStatus.INTERNAL_SERVER_ERROR:
        by_words = _category_by_words(words, body)
        if by_words is not None:
            return by_words
    elif is_overflow(words):  # gateways report a refusal of the server behind them as a 5xx
        return "context_overflow"
    return _STATUSES.get(status, "server" if status >= 500 else "bad_request")


def _category_by_words(words: str, body: ErrorBody) -> Category | None:
    if body.type == "bad_input":
        return "bad_request"
    if not _BEFORE_OVERFLOW.search(words) and is_overflow(words):
        return "context_overflow"
    for pattern, category in _CATEGORIES:
        if pattern.search(words):
            return category
    refused = strings(body.fields.get("refused"))
    param = string(body.fields, "param")
    if refuses_tools(body.message or "", code=body.code, param=param, refused=refused):
        return "unsupported"
    return None


def _redirect(head: Head, endpoint: Endpoint) -> AIError:
    target = endpoint.redacted(head.headers.get("location", "another address"))[:200]
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"{endpoint.address} redirects to {target}, which was not followed.",
        hint="If you trust that address, set it as this provider's base_url.",
        status=head.status,
        provider=endpoint.provider,
        details={"category": "redirect"},
    )
