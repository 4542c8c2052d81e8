"""Interprets the response to a range request: continue, start over, or give up; pure.

A server may lie, or have another file by now. Bytes are appended to those of an earlier response
only under the same strong ETag, at exactly the offset that was requested.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re
from ollm_tui.library.downloads.part_file import PartState
from ollm_tui.library.hub.repo import parse_sha256
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched

CHANGED: Final = "changed on the server, starting over"
NO_RANGES: Final = "the server cannot resume, starting over"
MAX_WAIT_S: Final = 3600.0
_STRONG: Final = lazy_re(r'"[\x21\x23-\x7e]{1,250}"')
_RANGE: Final = lazy_re(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19}|\*)")
_NUMBER: Final = lazy_re(r"[0-9]{1,19}")
_SECONDS: Final = lazy_re(r"[0-9]{1,9}(\.[0-9]{1,9})?")
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
class RangeRequest:
    """The request, and the facts about the file so far."""

    name: str
    size: int | None = None
    """As listed elsewhere; the server's size has to agree."""
    sha256: str | None = None
    """As listed elsewhere."""
    offset: int = 0
    earlier: PartState | None = None
    """The recorded state of the bytes before `offset`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeBody:
    """How to use the body of a response."""

    start: int
    size: int | None
    etag: str | None
    sha256: str | None
    note: str = ""


class StartOver(Exception):
    """The partial file cannot be continued; the text is shown to the user."""


def interpret(request: RangeRequest, response: Fetched) -> RangeBody:
    """Return how to use the body of a response.

    Raises:
        StartOver: this body cannot be used, but one from the beginning may be.
        AIError: the file cannot be downloaded, or is not the one that was listed.
    """
    match response.status:
        case HTTPStatus.OK:
            body = _whole(request, response)
        case HTTPStatus.PARTIAL_CONTENT if request.offset:
            body = _remainder(request, response)
        case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE if request.offset:
            raise StartOver(CHANGED)
        case _:
            raise _refused(request.name, response)
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise _unusable(request, response, "sent it packed, although it was asked not to")
    if _is_page(request.name, response.headers):
        raise _unusable(request, response, "answered with a web page instead")
    return body


def strong_etag(etag: str | None) -> str | None:
    """Return an ETag if it is strong and can be sent back; else None."""
    etag = (etag or "").strip()
    return etag if _STRONG.fullmatch(etag) else None


def _whole(request: RangeRequest, response: Fetched) -> RangeBody:
    headers = response.headers
    length = _number(headers.get("content-length"))
    is_chunked = headers.get("transfer-encoding", "").lower().endswith("chunked")
    size, sha256 = _size_and_checksum(request, response, length)
    if size is None and sha256 is None and not is_chunked:
        what = "does not say how long it is, so its end cannot be recognized"
        raise _unusable(request, response, what)
    etag = strong_etag(headers.get("etag"))
    note = "" if request.earlier is None else NO_RANGES if _is_same(request, etag) else CHANGED
    return RangeBody(start=0, size=size, etag=etag, sha256=sha256, note=note)


def _remainder(request: RangeRequest, response: Fetched) -> RangeBody:
    headers = response.headers
    named = _RANGE.fullmatch(headers.get("content-range", "").strip())
    earlier = request.earlier
    if named is None or earlier is None:
        raise StartOver(CHANGED)
    first, last = int(named[1]), int(named[2])
    total = None if named[3] == "*" else int(named[3])
    length = _number(headers.get("content-length"))
    if first != request.offset or last < first or length not in (None, last - first + 1):
        raise StartOver(CHANGED)
    if total is not None and (last >= total or earlier.size not in (None, total)):
        raise StartOver(CHANGED)
    if headers.get("etag") is not None and not _is_same(request, strong_etag(headers["etag"])):
        raise StartOver(CHANGED)
    size, sha256 = _size_and_checksum(request, response, total)
    if earlier.sha256 is not None and sha256 not in (None, earlier.sha256):
        raise StartOver(CHANGED)
    size = earlier.size if size is None else size
    if size is None:  # then the end cannot be recognized
        raise StartOver(NO_RANGES)
    return RangeBody(
        start=first,
        size=size,
        etag=earlier.etag,
        sha256=sha256 or earlier.sha256,
        note=f"resumed at {100 * first // size} %",
    )


def _is_same(request: RangeRequest, etag: str | None) -> bool:
    return request.earlier is not None and etag is not None and etag == request.earlier.etag


def _size_and_checksum(
    request: RangeRequest, response: Fetched, total: int | None
) -> tuple[int | None, str | None]:
    """Return size and checksum; the hub's headers, the listing and the response must agree."""
    linked_size = _number(response.first_headers.get("x-linked-size"))
    linked_sha256 = parse_sha256(response.first_headers.get("x-linked-etag"))
    known = {size for size in (total, linked_size, request.size) if size is not None}
    if len(known) > 1:
        sizes = " and ".join(counted(size, "byte") for size in sorted(known))
        raise _unusable(request, response, f"has a different size: {sizes} were named")
    if request.sha256 is not None and linked_sha256 not in (None, request.sha256):
        raise _unusable(request, response, "has a different checksum than it was listed with")
    return next(iter(known), None), request.sha256 or linked_sha256


def _refused(name: str, response: Fetched) -> AIError:
    status = response.status
    code = _STATUSES.get(status, ErrorCode.SERVICE_UNAVAILABLE)
    wait = _wait(response.headers)
    phrase = next((f" {known.phrase}" for known in HTTPStatus if known == status), "")
    return AIError(
        code,
        f"{_host(response)} does not give {clean_name(name)}: {status}{phrase}.",
        hint=_HINTS.get(status, "Try again later; if it persists, the file may have moved."),
        status=status,
        details={} if wait is None else {"retry_after_s": wait},
        retryable=status in (408, 429) or (status >= 500 and status != 501),
    )


def _unusable(request: RangeRequest, response: Fetched, what: str) -> AIError:
    return AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{clean_name(request.name)} cannot be downloaded from {_host(response)}: it {what}.",
        hint="Check whether the file has changed there, or download it from somewhere else.",
        status=response.status,
        details={"fault": "unusable"},
    )


def _host(response: Fetched) -> str:
    return clean_name(urlsplit(response.url).netloc) or "the server"


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _wait(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    wait = float(text) if _SECONDS.fullmatch(text) else None
    return wait if wait is not None and wait <= MAX_WAIT_S else None


def _is_page(name: str, headers: Mapping[str, str]) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "text/html" and not name.lower().endswith((".html", ".htm"))
