"""The body of a request as bytes, made in slices: a long chat must not keep the loop from keys."""

import json

import anyio.lowlevel

from ollm_tui.decode.json_guard import SLICE, json_slices
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.providers.http_faults import Endpoint


async def encoded_body(body: JsonMapping, place: Endpoint) -> bytes:
    """Encode a request; half a surrogate pair, as a careless model leaves it, becomes U+FFFD.

    Raises:
        AIError: BAD_REQUEST for what JSON cannot hold.
    """
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
    slices: list[bytes] = []
    try:
        for part in json_slices(dict(body), encoder):
            slices.append(part)
            if len(part) >= SLICE:
                await anyio.lowlevel.checkpoint()
    except (RecursionError, ValueError) as error:
        raise place.error(
            ErrorCode.BAD_REQUEST,
            f"The request cannot be written as JSON: {error}.",
            None,
            fault="request",
        ) from error
    return b"".join(slices)
