"""The JSON of a request: encoded in slices, and joined only as it is sent.

Most of a long chat was encoded for an earlier question. Its bytes are not copied before the head of
the request is on its way.
"""

from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import accumulate, repeat

import anyio.lowlevel

from ollm_tui.decode.json_guard import SLICE, json_slices, repaired
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonValue
from ollm_tui.providers.body.wire_messages import ENCODER, UnchangedObject, WireList
from ollm_tui.providers.http_faults import Endpoint


class RequestContent:
    """The slices of a request, to be iterated over as often as it is sent."""

    def __init__(self, slices: Sequence[bytes]) -> None:
        self._slices = slices
        self._length = sum(map(len, slices))

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._length

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes, about `SLICE` at a time."""
        ends = [*accumulate(map(len, self._slices))]
        at = sent = 0
        while at < len(ends):
            end = bisect_left(ends, sent + SLICE, at, len(ends) - 1) + 1
            yield b"".join(self._slices[at:end])
            at, sent = end, ends[end - 1]


async def encoded_body(body: JsonMapping, endpoint: Endpoint) -> RequestContent:
    """Encode a request in slices, so that a long chat does not hold up the event loop.

    Half a surrogate pair, as a careless model leaves it, becomes U+FFFD.

    Raises:
        AIError: BAD_REQUEST for what JSON cannot hold.
    """
    slices: list[bytes] = []
    size = 0
    try:
        for run in body_slices(body):
            slices += run
            size += len(run[-1])  # the others were encoded earlier
            if size >= SLICE:
                size = 0
                await anyio.lowlevel.checkpoint()
    except (RecursionError, ValueError) as error:
        raise endpoint.error(
            ErrorCode.BAD_REQUEST,
            f"The request cannot be written as JSON: {error}.",
            None,
            fault="request",
        ) from error
    return RequestContent(slices)


def body_slices(body: JsonMapping) -> Iterator[Sequence[bytes]]:
    """Yield the JSON of a request in slices, several at a time; nothing of them is copied.

    Half surrogate pairs become U+FFFD.

    Raises:
        ValueError: the body is not finite.
        RecursionError: it is nested too deeply.
    """
    before = b"{"
    for key, value in body.items():
        yield [before, repaired(ENCODER.encode(key)).encode(), b": "]
        if isinstance(value, WireList):
            yield from value.slices()
        elif isinstance(value, list) and UnchangedObject in map(type, value):
            yield from _items(value)
        else:
            yield from ([one] for one in json_slices(value, ENCODER))
        before = b", "
    yield [b"}"] if body else [b"{}"]


def _items(values: Sequence[JsonValue]) -> Iterator[Sequence[bytes]]:
    """Yield the slices of a list, of which most values are encoded already."""
    known = [*map(getattr, values, repeat("_encoded"), repeat(b"")), b""]
    at, before = 0, b"["
    while at < len(values):
        value, end = values[at], at + 1
        if known[at]:
            end = known.index(b"", at)
            run = [b", "] * (2 * (end - at))
            run[0], run[1::2] = before, known[at:end]
            yield run
        elif isinstance(value, UnchangedObject):
            yield [before, value.encoded()]
        else:
            yield [before]
            yield from ([one] for one in json_slices(value, ENCODER))
        at, before = end, b", "
    yield [b"]"]
