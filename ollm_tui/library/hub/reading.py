"""One question to a hub and its answer, within bounds, as what is made of its JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Generic, TypeVar
from urllib.parse import urljoin

import anyio
import anyio.to_thread

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.library.hub import faults
from ollm_tui.library.hub.faults import HubRequest
from ollm_tui.library.hub.links import next_page
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetcher, FetchRequest
from ollm_tui.protocol.json_types import JsonValue

LARGEST_REPLY = 16 * 1024 * 1024
LONGEST_S = 120.0
"""Each piece of a reply may be in time, and the whole never end."""
AT_ONCE_BYTES = 256 * 1024
"""A longer reply is read in a thread, in a way that lets others run."""
MOST_VALUES = 300_000
"""About so many values of one reply are looked at."""
_HEADERS: Mapping[str, str] = {"accept": "application/json", "accept-encoding": "identity"}
_NO_ANSWER = frozenset(
    {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT, ErrorCode.STREAM_INCOMPLETE}
)
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Page(Generic[Told]):
    """What one answer told."""

    told: Told
    following: str | None
    """Where the list goes on, wherever that is."""


async def ask(
    fetcher: Fetcher, request: FetchRequest, asked: HubRequest, read: Callable[[JsonValue], Told]
) -> Page[Told]:
    """Ask a hub; `read` makes something of its JSON, and may run in a thread.

    Raises:
        AIError: a sentence that names the hub and the next step.
    """
    try:
        with anyio.fail_after(LONGEST_S):
            status, headers, body = await _answer(fetcher, request)
    except TimeoutError:
        slow = AIError(ErrorCode.TIMEOUT, f"Its answer took more than {LONGEST_S:g} s.")
        raise faults.unreachable(asked.place, slow) from slow
    except AIError as error:
        if error.known_code in _NO_ANSWER:
            raise faults.unreachable(asked.place, error) from error
        raise
    if status != HTTPStatus.OK:
        is_data = "json" in headers.get("content-type", "").lower()
        raise faults.refusal(asked, status, headers, datetime.now(UTC), is_data=is_data)
    if len(body) > LARGEST_REPLY:
        raise faults.no_hub(asked.place, f"over {LARGEST_REPLY // 1024**2} MB")
    if body.count(b",") > MOST_VALUES:
        raise faults.no_hub(asked.place, "too much data")
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise faults.no_hub(asked.place, "packed data")
    link = next_page(headers.get("link", ""))
    told = await _understood(bytes(body), asked, read)
    return Page(told, None if link is None else _joined(request.url, link))


async def _answer(
    fetcher: Fetcher, request: FetchRequest
) -> tuple[int, Mapping[str, str], bytearray]:
    body = bytearray()
    async with fetcher.fetch(_asking_for_json(request)) as fetched:
        if fetched.status == HTTPStatus.OK:
            async for piece in fetched.pieces():
                body += piece
                if len(body) > LARGEST_REPLY:
                    break
        return fetched.status, fetched.headers, body


def _asking_for_json(request: FetchRequest) -> FetchRequest:
    headers = {**_HEADERS, **request.headers}
    return FetchRequest(
        url=request.url, headers=headers, token=request.token, redirects=request.redirects
    )


async def _understood(body: bytes, asked: HubRequest, read: Callable[[JsonValue], Told]) -> Told:
    large = len(body) > AT_ONCE_BYTES
    work = partial(_read, body, read, in_slices=large)
    try:
        return await anyio.to_thread.run_sync(work) if large else work()
    except BadJson as error:
        is_page = body.lstrip()[:1] == b"<"
        what = "a web page" if is_page else "something other than JSON"
        raise faults.no_hub(asked.place, what) from error


def _read(body: bytes, read: Callable[[JsonValue], Told], *, in_slices: bool) -> Told:
    return read(parse_json(body.decode("utf-8-sig", "replace"), in_slices=in_slices))


def _joined(base: str, link: str) -> str:
    """Give a whole address; what cannot be one leads nowhere that anybody would follow."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link
