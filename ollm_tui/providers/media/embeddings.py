"""Texts to vectors, in requests of bounded size: what the protocols for that share."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import MAX_EXACT_INTEGER
from ollm_tui.protocol.blocks import EmbeddingContent, TextContent, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.body.unsupported import check_input
from ollm_tui.providers.media.encoding import unsendable
from ollm_tui.providers.transport import Transport
from ollm_tui.tasks import cancelled_by

TEXTS_AT_ONCE: Final = 32
"""So many vectors make a reply that can be parsed without blocking the keyboard."""
CHARACTERS_AT_ONCE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Vectors:
    """What a server replied for some texts."""

    vectors: Sequence[JsonValue]
    """In the order of the texts."""
    tokens: int | None
    """None if the server does not count them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProtocol:
    """How a server is asked for vectors."""

    path: str
    body: Callable[[Request, Sequence[str]], JsonObject]
    parse: Callable[[JsonValue], Vectors]
    options: Collection[str] = ()
    """Generation options that it takes."""


async def embed(transport: Transport, request: Request, protocol: EmbeddingProtocol) -> Response:
    """Return an `EmbeddingContent` for each text of the request's input, in their order.

    The time limit of each request is that of a first answer, since the model may have to be loaded.

    Raises:
        AIError: any failure; ABORTED by the request's signal; UNSUPPORTED_FEATURE for fields that
            have no place in a request for embeddings.
    """
    check_input(request, "embeddings", "embedding", protocol.options)
    texts = texts_of(request)
    made: list[EmbeddingContent] = []
    counts: list[int | None] = []
    with cancelled_by(request.signal):
        for some in batches(texts):
            answer = await _vectors(transport, protocol, protocol.body(request, some))
            made += checked_vectors(answer.vectors, len(some))
            counts.append(answer.tokens)
        _check_lengths(made, (request.options.extra_body or {}).get("dimensions"))
        return Response(content=tuple(made), usage=_usage(counts))
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")


async def _vectors(transport: Transport, protocol: EmbeddingProtocol, body: JsonObject) -> Vectors:
    within_s = transport.spec.first_byte_timeout_s
    try:
        return protocol.parse(await transport.json("POST", protocol.path, body, within_s=within_s))
    except AIError as error:
        if error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED:
            error.hint = "Shorten the text, or split it into several."
        raise


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


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in groups for one request each; a text that is too large stands alone."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        is_full = len(batch) == TEXTS_AT_ONCE or characters + len(text) > CHARACTERS_AT_ONCE
        if batch and is_full:
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def checked_vectors(values: Sequence[JsonValue], count: int) -> list[EmbeddingContent]:
    """Return the vectors for `count` texts.

    Raises:
        AIError: ENGINE_ERROR if there are not as many as texts, or one is not made of numbers.
    """
    vectors = [vector for value in values if (vector := _vector(value))]
    if not len(values) == len(vectors) == count:
        raise AIError(
            ErrorCode.ENGINE_ERROR,
            f"The server answered {count} texts with {len(vectors)} embeddings.",
            hint="Check that the model makes embeddings.",
        )
    return vectors


def _check_lengths(made: Sequence[EmbeddingContent], wanted: JsonValue) -> None:
    """Raise if vectors cannot be compared, or do not have the number of dimensions asked for."""
    lengths = sorted({len(embedding.vector) for embedding in made})
    if len(lengths) > 1:
        raise AIError(
            ErrorCode.ENGINE_ERROR,
            f"The server sent vectors of {lengths[0]} and of {lengths[-1]} numbers.",
            hint="Check the server's log.",
        )
    if isinstance(wanted, int) and lengths != [wanted]:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"The vectors have {lengths[0]} dimensions, not {wanted}.",
            hint="The model or its server cannot change their number.",
        )


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
        if isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= MAX_EXACT_INTEGER
    ]
    return EmbeddingContent(tuple(numbers)) if len(numbers) == len(value) else None
