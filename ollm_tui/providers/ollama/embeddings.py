"""Texts to vectors by `/api/embed`."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.decode.json_fields import as_object, integer, present
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.embeddings import EmbeddingProtocol, Vectors, embed
from ollm_tui.providers.ollama.refusals import explain_bad_name, unknown_path
from ollm_tui.providers.transport import Transport


def embed_body(request: Request, texts: Sequence[str]) -> JsonObject:
    """Return the body of a request for the vectors of some texts.

    A text that is too long is an error: the server would cut it and say nothing.
    """
    options = request.options
    window: JsonObject | None = {"num_ctx": options.num_ctx} if options.num_ctx else None
    body: JsonObject = {"model": request.model, "input": [*texts], "truncate": False}
    body |= present({"options": window, "keep_alive": options.keep_alive})
    return body | dict(options.extra_body or {})


def read_vectors(reply: JsonValue) -> Vectors:
    """Return the vectors, which are in the order of their texts."""
    values = as_object(reply).get("embeddings")
    vectors = values if isinstance(values, list) else []
    return Vectors(vectors, integer(as_object(reply), "prompt_eval_count"))


OLLAMA_EMBEDDINGS: Final = EmbeddingProtocol(
    path="/api/embed",
    body=embed_body,
    parse=read_vectors,
    options=frozenset({"num_ctx", "keep_alive"}),
)


async def embed_by_ollama(transport: Transport, request: Request) -> Response:
    """Return the embeddings of the input's texts.

    Raises:
        AIError: any failure, with the server's message if its model makes no embeddings;
            UNSUPPORTED_FEATURE if the server is too old.
    """
    try:
        return await embed(transport, request, OLLAMA_EMBEDDINGS)
    except AIError as error:
        unknown = unknown_path(error, transport.endpoint, "make embeddings")
        explain_bad_name(error, request.model)
        raise unknown or error from None
