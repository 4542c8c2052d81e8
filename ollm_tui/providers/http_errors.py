"""An answer with an error status, or an error object inside a stream, as one `AIError`.

The kind of failure is told by the status and by phrases, because servers share no codes: a full
context window alone has eight spellings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal, TypeAlias

from ollm_tui.decode.json_fields import integer, string, strings
from ollm_tui.decode.retry_after import retry_after
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.providers.error_body import (
    ErrorBody,
    is_markup,
    read_error_body,
    read_error_text,
    read_error_value,
)
from ollm_tui.providers.http_faults import Endpoint, cut, nothing_sent, proxy_refusal, web_page
from ollm_tui.providers.refusals import is_overflow, overflow_sizes, refuses_tools

Category: TypeAlias = Literal[
    "auth",
    "not_found",
    "bad_request",
    "unsupported",
    "context_overflow",
    "content_filter",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "out_of_memory",
    "timeout",
    "cancelled",
    "redirect",
]

_UNSUPPORTED = re.compile(
    r"does not support (chat|tools|thinking|completions?)|--jinja|tool choice requires"
)
_NOT_READ = re.compile(r'option "\w+" must be of type|invalid format: .*expected "json"')
"""A value of the request that Ollama refuses, and calls it an error of its own."""
_NO_PICTURES = re.compile(
    r"(?:image|picture|vision|multi-?modal)s?(?: inputs?)? (?:is|are) not supported"
    r"|(?:not|n't) support (?:image|picture|vision|multi-?modal)|not a multi-?modal model"
    r"|\bat most 0 image|missing data required for image input"
    r"|endpoints found that support image input|image_url is only supported by",
    re.IGNORECASE,
)
"""A model that reads only text, by the words of llama.cpp, vLLM, Ollama, OpenAI and OpenRouter."""
_NOT_LOADED = re.compile(r"\bmodel name=\S+ failed to load|\bfailed to load model\b", re.IGNORECASE)
_NOT_REMOVABLE = re.compile(r"\bis not removable\b")
_NO_PATH = re.compile(
    r"(?:404:? |file |page |path |route |resource )*not found(?: \(404\))?\.?"
    r"|(?:invalid url|unexpected endpoint|unknown (?:endpoint|path|route|url)|no route|cannot "
    r"(?:get|post|delete) /).*",
    re.IGNORECASE | re.DOTALL,
)
"""What a server says in JSON of a path that it does not have, and not of a model."""
_MEMORY = re.compile(r"out of memory|requires more system memory|cudaMalloc failed", re.IGNORECASE)
_FILTER = re.compile(r"content_filter|content_policy|responsible ?ai", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low")
_FIRST = re.compile(f"{_QUOTA.pattern}|(?i:{_MEMORY.pattern})")
"""What is told beside the size of a window, and counts more."""
_NO_MODEL = re.compile(
    r"model_not_found|model \S+ not found|invalid model name passed", re.IGNORECASE
)
_BAD_KEY = re.compile(
    # LiteLLM without a database looks for every other key than its own in there.
    r"invalid_api_key|incorrect api key|API_KEY_INVALID|no_db_connection",
    re.IGNORECASE,
)
_CODES: Mapping[Category, ErrorCode] = {
    "auth": ErrorCode.AUTH_FAILED,
    "not_found": ErrorCode.MODEL_NOT_FOUND,
    "bad_request": ErrorCode.BAD_REQUEST,
    "unsupported": ErrorCode.UNSUPPORTED_FEATURE,
    "context_overflow": ErrorCode.CONTEXT_LENGTH_EXCEEDED,
    "content_filter": ErrorCode.CONTENT_FILTERED,
    "rate_limit": ErrorCode.RATE_LIMITED,
    "quota": ErrorCode.RATE_LIMITED,
    "overloaded": ErrorCode.SERVICE_UNAVAILABLE,
    "server": ErrorCode.INTERNAL_ERROR,
    "out_of_memory": ErrorCode.OUT_OF_MEMORY,
    "timeout": ErrorCode.TIMEOUT,
    "cancelled": ErrorCode.ABORTED,
    "redirect": ErrorCode.BAD_REQUEST,
}
CHECK_KEY = "Check the API key of this provider."
_HINTS: Mapping[Category, str] = {
    "auth": CHECK_KEY,
    "unsupported": "Choose another model for this.",
    "context_overflow": "Start a new chat, shorten the prompt, or give the model a larger window.",
    "content_filter": "Rephrase the prompt.",
    "rate_limit": "Wait a moment and try again.",
    "quota": "Check the plan and the billing of this account.",
    "overloaded": "Wait a moment and try again.",
    "server": "Try again; if it persists, check the server's log.",
    "out_of_memory": "Choose a smaller model or a smaller context window, or unload others.",
    "timeout": "Try again; a large model may still be loading.",
}
_NOT_LOADED_HINT = "The server's log says why; a smaller model or window may fit."
_NO_WORDS = frozenset({"", "internal server error", "http 500 internal server error", "error"})
_WRONG_PATH = "Check the server's address: it may lack a path, or have one too many."
_STATUSES: Mapping[int, Category] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    407: "auth",
    408: "timeout",
    409: "overloaded",
    410: "not_found",
    429: "rate_limit",
    451: "content_filter",
    499: "cancelled",
    501: "unsupported",
    502: "overloaded",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_TRANSIENT: frozenset[Category] = frozenset({"rate_limit", "overloaded", "server", "timeout"})


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers of an answer; the names are lower case."""

    status: int
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def http_error(head: Head, body: bytes, place: Endpoint) -> AIError:
    """Translate an answer whose status is no success."""
    said = read_error_body(body)
    if 300 <= head.status < 400:
        return _redirect(head, place)
    if head.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and place.proxy:
        return proxy_refusal(place)
    return _build(said, head, place)


def stream_error(value: JsonObject, place: Endpoint) -> AIError:
    """Translate an error object that came inside an answer of status 200."""
    said = read_error_value(value)
    status = integer(said.fields, "code") or integer(said.fields, "status_code")
    known = status if status is not None and 400 <= status < 600 else None
    return _build(said, Head(known or 500), place, status=known)


def text_error(text: str, place: Endpoint) -> AIError:
    """Translate plain words that came where data was due."""
    return _build(read_error_text(text.strip()), Head(500), place, status=None)


def is_error(value: JsonObject, event: str = "message") -> bool:
    """Whether an object of a stream reports a failure; `"error": null` does not."""
    return (
        bool(value.get("error"))
        or value.get("object") == "error"
        or value.get("type") == "error"
        or event == "error"
    )


_SAME = -1


def _build(said: ErrorBody, head: Head, place: Endpoint, *, status: int | None = _SAME) -> AIError:
    category = _category(said, head.status)
    message = place.redacted(_sentence(category, said, head, place))
    code = _CODES[category]
    if category == "not_found" and _lacks_path(said):
        code = ErrorCode.BAD_REQUEST  # the path is missing, not the model
    if category == "unsupported" and _NO_PICTURES.search(message):
        code = ErrorCode.UNSUPPORTED_MODALITY
    if _NOT_LOADED.search(message) and category == "server":
        code = ErrorCode.MODEL_NOT_LOADED
    if category == "auth" and head.status == HTTPStatus.FORBIDDEN:
        code = ErrorCode.PERMISSION_DENIED
    if head.status == HTTPStatus.NOT_IMPLEMENTED:
        code = ErrorCode.NOT_IMPLEMENTED
    if head.status == HTTPStatus.CONFLICT:
        code = ErrorCode.CONFLICT
    return AIError(
        code,
        message,
        hint=_hint(category, said, head, place),
        status=head.status if status == _SAME else status,
        provider=place.provider,
        details=_details(category, said, head, place),
        retryable=code is not ErrorCode.MODEL_NOT_LOADED and _retryable(category, head),
    )


def _category(said: ErrorBody, status: int) -> Category:
    words = f"{said.code} {said.type} {said.message or ''}"
    if status < 500 or status == HTTPStatus.INTERNAL_SERVER_ERROR:
        by_words = _by_words(words, said)
        if by_words is not None:
            return by_words
    elif is_overflow(words):  # gateways give their own status to what was refused behind them
        return "context_overflow"
    return _by_status(status)


def _by_words(words: str, said: ErrorBody) -> Category | None:
    table: tuple[tuple[re.Pattern[str], Category], ...] = (
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
    if said.type == "bad_input":
        return "bad_request"
    if not _FIRST.search(words) and is_overflow(words):
        return "context_overflow"
    found = next((category for pattern, category in table if pattern.search(words)), None)
    if found is None and _refuses_tools(said):
        return "unsupported"
    return found


def _refuses_tools(said: ErrorBody) -> bool:
    return refuses_tools(
        said.message or "",
        code=said.code,
        param=string(said.fields, "param"),
        refused=strings(said.fields.get("refused")),
    )


def _by_status(status: int) -> Category:
    return _STATUSES.get(status, "server" if status >= 500 else "bad_request")


def _retryable(category: Category, head: Head) -> bool:
    match head.headers.get("x-should-retry", "").strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return category in _TRANSIENT


def _sentence(category: Category, said: ErrorBody, head: Head, place: Endpoint) -> str:
    """Give what the server says; where that is a word or two, or a program's, with who says it."""
    message = _message(said, head)
    if _is_about_key(category, said, head, place):
        wish = "rejected the API key" if place.has_key else "requires an API key"
        return f"{place.label} {wish}: {message}"
    if category == "not_found" and _lacks_path(said):
        return f"{place.whereabouts} does not know this path: {message}"
    is_bare = said.is_trace or message.strip(". ").lower() in _NO_WORDS
    if category == "server" and is_bare:
        return f"{place.label} failed: {message}"
    return message


def _is_about_key(category: Category, said: ErrorBody, head: Head, place: Endpoint) -> bool:
    """Whether the key of a provider is what is wrong, not what it may do or how to sign in."""
    others = (HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
    is_own = bool(place.provider) and not string(said.fields, "signin_url")
    return category == "auth" and head.status not in others and is_own


def _lacks_path(said: ErrorBody) -> bool:
    return not said.is_json or _NO_PATH.fullmatch((said.message or "").strip()) is not None


def _message(said: ErrorBody, head: Head) -> str:
    if said.is_html:
        title = f" ({said.message})" if said.message else ""
        return f"{_status_line(head)}{title}"
    if said.is_cut and said.message:
        return f"{_status_line(head)}: {said.message} …"
    return said.message or _status_line(head)


def _status_line(head: Head) -> str:
    reason = head.reason
    if not reason:
        try:
            reason = HTTPStatus(head.status).phrase
        except ValueError:
            reason = ""
    return f"HTTP {head.status} {reason}".strip()


def _hint(category: Category, said: ErrorBody, head: Head, place: Endpoint) -> str | None:
    signin = string(said.fields, "signin_url")
    if category == "auth" and signin:
        return f"Sign in at {place.redacted(signin)}"
    if _is_about_key(category, said, head, place):
        if place.has_key:
            return f"Check the API key of provider {place.provider}."
        return f"Set api_key_env below [providers.{place.provider}]."
    if category == "not_found":
        return _WRONG_PATH if _lacks_path(said) else place.model_hint
    if category == "server" and _NOT_LOADED.search(said.message or ""):
        return _NOT_LOADED_HINT
    return _HINTS.get(category)


def _details(category: Category, said: ErrorBody, head: Head, place: Endpoint) -> JsonObject:
    wait = retry_after(head.headers, said.fields, datetime.now(UTC))
    found: dict[str, JsonValue] = {
        "category": category,
        "retry_after_s": wait,
        "server_code": said.code,
        "server_type": said.type,
        "param": string(said.fields, "param"),
        "refused": [place.redacted(path) for path in strings(said.fields.get("refused"))] or None,
    }
    if category == "context_overflow":
        found |= overflow_sizes(said.message or "", said.fields)
    return {
        key: place.redacted(value) if isinstance(value, str) else value
        for key, value in found.items()
        if value is not None
    }


def _redirect(head: Head, place: Endpoint) -> AIError:
    target = place.redacted(head.headers.get("location", "another address"))[:200]
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"{place.address} redirects to {target}, which was not followed.",
        hint="If you trust that address, set it as this provider's base_url.",
        status=head.status,
        provider=place.provider,
        details={"category": "redirect"},
    )


def gave_up(place: Endpoint, reason: str | None) -> AIError:
    """Give the error of an answer that the server ended for a reason of its own."""
    named = "" if reason is None or reason.lower() == "error" else f" ({reason[:100]})"
    return place.error(
        ErrorCode.ENGINE_ERROR,
        place.redacted(f"The server gave up in the middle of the answer{named}."),
        "Ask again.",
        fault="engine",
    )


def unfinished(place: Endpoint, bad: str | None, *, is_empty: bool) -> AIError:
    """Give the error; `bad` is the first piece that could not be read, `is_empty` if no other came.

    The unreadable piece is quoted: servers put their last words there as plain text.
    """
    words = (bad or "").strip()
    if not words:
        return nothing_sent(place) if is_empty else cut(place)
    if is_markup(words):
        return web_page(place)
    error = text_error(words, place)
    error.retryable = False  # the server has answered
    if not is_empty:
        error.code = ErrorCode.STREAM_INCOMPLETE
        error.hint = "What arrived is kept; try again for the rest."
    return error
