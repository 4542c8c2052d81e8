"""Requests with an input that a server has no operation for."""

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.http_errors import stream_error
from ollm_tui.providers.http_faults import Endpoint


def not_offered(label: str, what: str) -> AIError:
    """The provider has no endpoint for a kind of request: `what` is such as "embeddings"."""
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{label} offers no {what}.",
        hint="Choose a model of another provider: `ollm models list` shows what each can do.",
    )


def not_streamed(what: str) -> AIError:
    """The answer to a kind of request comes whole."""
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{what} cannot be streamed.",
        hint="Set `stream` of the request to False.",
    )


def own_words(reply: JsonObject, endpoint: Endpoint, what: str) -> AIError:
    """Return the error of a reply that came with a status of success.

    LM Studio answers an unknown path so; `what` is then not offered.
    """
    error = stream_error(reply, endpoint)
    if "unexpected endpoint" in error.message.lower():
        return not_offered(endpoint.label_and_address, what)
    return error
