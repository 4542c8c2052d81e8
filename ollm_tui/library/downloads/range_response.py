"""What an answer to the request for a file means: go on, begin anew, or give up; pure.

A server may lie, or have another file by now. Bytes are put together with those of an earlier
answer only under a strong ETag that is the same, at the very place that was asked for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.library.downloads.part_file import PartState
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched

CHANGED: Final = "changed on the server, starting over"
NO_RANGES: Final = "the server cannot resume, starting over"
LONGEST_WAIT_S: Final = 3600.0
_STRONG: Final = re.compile(r'"[\x21\x23-\x7e]{1,250}"')
_RANGE: Final = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)")
_SUM: Final = re.compile(r"[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_STATUSES: Final[Mapping[int, ErrorCode]] = {
    401: ErrorCode.AUTH_FAILED,
    403: ErrorCode.PERMISSION_DENIED,
    404: ErrorCode.MODEL_NOT_FOUND,
    408: ErrorCode.TIMEOUT,
    410: ErrorCode.MODEL_NOT_FOUND,
    429: ErrorCode.RATE_LIMITED,
}
_HINTS: Final[Mapping[int, str]] = {
    401: "It requires authentication: set a token for it.",
    403: "Accept its terms on its page first, or use a token that may read it.",
    404: "Check the name and the revision.",
    410: "It was removed; choose another one.",
    429: "Wait a moment and resume it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for, and what is known of the file so far."""

    name: str
    size: int | None = None
    """As it was listed elsewhere; what the server says has to agree."""
    sha256: str | None = None
    """As it was listed elsewhere."""
    offset: int = 0
    earlier: PartState | None = None
    """What is known of the bytes before `offset`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How the body of an answer is to be used."""

    start: int
    size: int | None
    etag: str | None
    sha256: str | None
    note: str = ""


class AskAnew(Exception):
    """Nothing that has come can be gone on with; the text is what a person is told."""


def understand(asked: Asked, answer: Fetched) -> Body:
    """Tell what to do with an answer.

    Raises:
        AskAnew: the body is of no use, but one from the beginning may be.
        AIError: the file cannot be had, or is another one than was promised.
    """
    match answer.status:
        case HTTPStatus.OK:
            body = _whole(asked, answer)
        case HTTPStatus.PARTIAL_CONTENT if asked.offset:
            body = _rest(asked, answer)
        case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE if asked.offset:
            raise AskAnew(CHANGED)
        case _:
            raise _refusal(asked.name, answer)
    if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise _unusable(asked, answer, "sent it packed, although it was asked not to")
    if _is_page(asked.name, answer.headers):
        raise _unusable(asked, answer, "answered with a web page instead")
    return body


def strong(etag: str | None) -> str | None:
    """Give an ETag back if it promises the same bytes and can be sent; else None."""
    etag = (etag or "").strip()
    return etag if _STRONG.fullmatch(etag) else None


def sum_of(text: str | None) -> str | None:
    """Give a SHA-256 in lower case out of what names one: bare, quoted or after `sha256:`."""
    bare = (text or "").strip().removeprefix("W/").strip('"').removeprefix("sha256:")
    return bare.lower() if _SUM.fullmatch(bare) else None


def _whole(asked: Asked, answer: Fetched) -> Body:
    size, sha256 = _promised(asked, answer, _number(answer.headers.get("content-length")))
    if size is None and sha256 is None and not _is_chunked(answer.headers):
        raise _unusable(
            asked, answer, "does not say how long it is, so that nobody can tell the end"
        )
    etag = strong(answer.headers.get("etag"))
    note = "" if asked.earlier is None else NO_RANGES if _is_same(asked, etag) else CHANGED
    return Body(start=0, size=size, etag=etag, sha256=sha256, note=note)


def _rest(asked: Asked, answer: Fetched) -> Body:
    headers = answer.headers
    named = _RANGE.fullmatch(headers.get("content-range", "").strip())
    earlier = asked.earlier
    if named is None or earlier is None:
        raise AskAnew(CHANGED)
    first, last = int(named[1]), int(named[2])
    total = None if named[3] == "*" else int(named[3])
    length = _number(headers.get("content-length"))
    if first != asked.offset or last < first or length not in (None, last - first + 1):
        raise AskAnew(CHANGED)
    if total is not None and (last >= total or earlier.size not in (None, total)):
        raise AskAnew(CHANGED)
    if headers.get("etag") is not None and not _is_same(asked, strong(headers["etag"])):
        raise AskAnew(CHANGED)
    size, sha256 = _promised(asked, answer, total)
    if earlier.sha256 is not None and sha256 not in (None, earlier.sha256):
        raise AskAnew(CHANGED)
    size = earlier.size if size is None else size
    if size is None:  # then nobody can tell whether more has to follow
        raise AskAnew(NO_RANGES)
    return Body(
        start=first,
        size=size,
        etag=earlier.etag,
        sha256=sha256 or earlier.sha256,
        note=f"resumed at {100 * first // size} %",
    )


def _is_same(asked: Asked, etag: str | None) -> bool:
    return asked.earlier is not None and etag is not None and etag == asked.earlier.etag


def _promised(asked: Asked, answer: Fetched, total: int | None) -> tuple[int | None, str | None]:
    """Give size and sum; what the hub links to, what was listed and what comes have to agree."""
    linked_size = _number(answer.first_headers.get("x-linked-size"))
    linked_sum = sum_of(answer.first_headers.get("x-linked-etag"))
    known = {size for size in (total, linked_size, asked.size) if size is not None}
    if len(known) > 1:
        raise _unusable(asked, answer, f"has a different size: {_sizes(known)} were named")
    if asked.sha256 is not None and linked_sum not in (None, asked.sha256):
        raise _unusable(asked, answer, "has a different checksum than it was listed with")
    return next(iter(known), None), asked.sha256 or linked_sum


def _sizes(known: set[int]) -> str:
    return " and ".join(counted(size, "byte") for size in sorted(known))


def _refusal(name: str, answer: Fetched) -> AIError:
    status = answer.status
    code = _STATUSES.get(status, ErrorCode.SERVICE_UNAVAILABLE)
    wait = _wait(answer.headers)
    return AIError(
        code,
        f"{_host(answer)} does not give {clean_name(name)}: {_phrase(status)}.",
        hint=_HINTS.get(status, "Try again later; if it persists, the file may have moved."),
        status=status,
        details={} if wait is None else {"retry_after_s": wait},
        retryable=status in (408, 429) or (status >= 500 and status != 501),
    )


def _unusable(asked: Asked, answer: Fetched, what: str) -> AIError:
    return AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{clean_name(asked.name)} cannot be downloaded from {_host(answer)}: it {what}.",
        hint="Look whether the file has changed there, or download it from somewhere else.",
        status=answer.status,
        details={"fault": "unusable"},
    )


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _host(answer: Fetched) -> str:
    return clean_name(urlsplit(answer.url).netloc) or "the server"


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _wait(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    wait = float(text) if _SECONDS.fullmatch(text) else None
    return wait if wait is not None and wait <= LONGEST_WAIT_S else None


def _is_chunked(headers: Mapping[str, str]) -> bool:
    return headers.get("transfer-encoding", "").lower().endswith("chunked")


def _is_page(name: str, headers: Mapping[str, str]) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/html" and not name.lower().endswith((".html", ".htm"))
