"""Texts to vectors by `/embeddings`."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.decode.json_fields import as_object, integer, objects
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.embeddings import EmbeddingProtocol, Vectors, embed
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.transport import Transport


def embeddings_body(request: Request, texts: Sequence[str]) -> JsonObject:
    """Return the body of a request for the vectors of some texts."""
    body: JsonObject = {"model": request.model, "input": [*texts], "encoding_format": "float"}
    return body | dict(request.options.extra_body or {})


def read_vectors(reply: JsonValue) -> Vectors:
    """Return the vectors by their index; without a different one for each, as they arrived."""
    entries = objects(as_object(reply).get("data"))
    indexes = {integer(entry, "index") for entry in entries}
    if None not in indexes and len(indexes) == len(entries):
        entries.sort(key=lambda entry: integer(entry, "index") or 0)
    tokens = integer(as_object(as_object(reply).get("usage")), "prompt_tokens")
    return Vectors([entry.get("embedding") for entry in entries], tokens)


OPENAI_EMBEDDINGS: Final = EmbeddingProtocol(
    path="/embeddings", body=embeddings_body, parse=read_vectors
)


async def embed_by_openai(transport: Transport, request: Request) -> Response:
    """Return the embeddings of the input's texts by `/embeddings`.

    Raises:
        AIError: any failure, with the server's message if its model makes no embeddings;
            UNSUPPORTED_FEATURE if the server does not know the path.
    """
    with offered(transport.endpoint, "embeddings"):
        return await embed(transport, request, OPENAI_EMBEDDINGS)
