"""Texts to vectors by `/embeddings`."""

from collections.abc import Sequence
from contextlib import ExitStack

import anyio

from ollm_tui.decode.json_fields import LARGEST, as_object, integer, objects
from ollm_tui.protocol.blocks import EmbeddingContent, TextContent, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.pictures import unsendable
from ollm_tui.providers.transport import Transport
from ollm_tui.providers.unsupported import check_embedding

TEXTS_AT_ONCE = 32
"""So many vectors make a reply that can be parsed without blocking the keyboard."""


async def embed(transport: Transport, request: Request) -> Response:
    """Return an `EmbeddingContent` for each text of the request's input, in their order.

    The time limit is that of a first answer, since the model may have to be loaded first.

    Raises:
        AIError: any failure; ABORTED by the request's signal; UNSUPPORTED_FEATURE for fields that
            have no place in a request for embeddings.
    """
    check_embedding(request)
    texts = texts_of(request)
    vectors: list[EmbeddingContent] = []
    counts: list[int | None] = []
    with anyio.CancelScope() as scope, ExitStack() as listening:
        if request.signal is not None:
            listening.callback(request.signal.subscribe(scope.cancel))
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = texts[start : start + TEXTS_AT_ONCE]
            reply = await transport.json(
                "POST",
                "/embeddings",
                embeddings_body(request, some),
                within_s=transport.spec.first_byte_timeout_s,
            )
            vectors += read_vectors(reply, len(some))
            counts.append(integer(as_object(as_object(reply).get("usage")), "prompt_tokens"))
        return Response(content=tuple(vectors), usage=_usage(counts))
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")


def texts_of(request: Request) -> list[str]:
    """Return the texts of a request's input, one for each block.

    Raises:
        AIError: BAD_REQUEST for a conversation or nothing, UNSUPPORTED_MODALITY for other blocks.
    """
    blocks = () if request.input is None else normalize_content(request.input)
    if not blocks:
        raise AIError(
            ErrorCode.BAD_REQUEST, "An embedding takes an input of at least one text, no messages."
        )
    texts = []
    for block in blocks:
        if not isinstance(block, TextContent):
            raise unsendable(block)
        texts.append(block.text)
    return texts


def embeddings_body(request: Request, texts: Sequence[str]) -> JsonObject:
    """Return the body of a request for the vectors of some texts."""
    body: JsonObject = {"model": request.model, "input": [*texts], "encoding_format": "float"}
    return body | dict(request.options.extra_body or {})


def read_vectors(reply: JsonValue, count: int) -> list[EmbeddingContent]:
    """Return the vectors in the order of their texts.

    Raises:
        AIError: ENGINE_ERROR when there are not as many as texts, or one is not made of numbers.
    """
    entries = objects(as_object(reply).get("data"))
    if {integer(entry, "index") for entry in entries} == {*range(count)}:
        entries.sort(key=lambda entry: integer(entry, "index") or 0)
    vectors = [vector for entry in entries if (vector := _vector(entry.get("embedding")))]
    if not len(entries) == len(vectors) == count:
        raise AIError(
            ErrorCode.ENGINE_ERROR,
            f"The server answered {count} texts with {len(vectors)} embeddings.",
        )
    return vectors


def _usage(counts: Sequence[int | None]) -> Usage | None:
    known = [count for count in counts if count is not None]
    return Usage(prompt_tokens=sum(known)) if len(known) == len(counts) else None


def _vector(value: JsonValue) -> EmbeddingContent | None:
    """Read one vector; None if anything in it is not a number."""
    if not isinstance(value, list) or not value:
        return None
    numbers = [
        float(n)
        for n in value
        if isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= LARGEST
    ]
    return EmbeddingContent(tuple(numbers)) if len(numbers) == len(value) else None
