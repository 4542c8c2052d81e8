"""What Ollama does with its models beside chatting: small requests with small replies."""

from collections.abc import Iterator
from contextlib import contextmanager

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.ollama.models import read_running
from ollm_tui.providers.ollama.refusals import explain_bad_name, unknown_here
from ollm_tui.providers.transport import Transport

MAX_RUNNING_BYTES = 1024 * 1024
"""What fits into memory is few; the reply is read beside a list of all models."""


async def delete(transport: Transport, name: str) -> None:
    """Delete a model; its files go with it where no other model has them."""
    with _named(transport, "delete models", name):
        await transport.json("DELETE", "/api/delete", {"model": name}, within_s=_slow(transport))


async def copy(transport: Transport, source: str, destination: str) -> None:
    """Give a model a second name."""
    body: JsonObject = {"source": source, "destination": destination}
    with _named(transport, "copy models", destination):
        await transport.json("POST", "/api/copy", body, within_s=_slow(transport))


async def load(transport: Transport, name: str, keep_alive: str | float | None = None) -> None:
    """Have a model brought into memory; the reply comes when it is there."""
    kept: JsonObject = {} if keep_alive is None else {"keep_alive": keep_alive}
    await _without_messages(transport, {"model": name, **kept}, "load")


async def unload(transport: Transport, name: str) -> None:
    """Have a model dropped from memory."""
    await _without_messages(transport, {"model": name, "keep_alive": 0}, "unload")


async def listed(transport: Transport) -> JsonValue:
    """Give the list of all models as the server sends it."""
    with _named(transport, "list models"):
        return await transport.json("GET", "/api/tags")


async def shown(transport: Transport, name: str) -> JsonValue:
    """Give what the server tells of one model."""
    with _named(transport, "show models", name):
        return await transport.json("POST", "/api/show", {"model": name})


async def running(transport: Transport) -> dict[str, ModelInfo]:
    """Give the models in memory by name."""
    with _named(transport, "list the loaded models"):
        reply = await transport.json("GET", "/api/ps", most_bytes=MAX_RUNNING_BYTES)
        return read_running(reply)


async def version(transport: Transport) -> str | None:
    """Give the server's version; None when it has none to tell."""
    with _named(transport, "tell its version"):
        return string(as_object(await transport.json("GET", "/api/version")), "version")


async def _without_messages(transport: Transport, asked: JsonObject, deed: str) -> None:
    """Ask for an answer to nothing: a model is loaded for it, or dropped after it."""
    nothing: JsonObject = {"messages": [], "stream": False}
    with _named(transport, f"{deed} models", str(asked["model"])):
        limit = transport.spec.first_byte_timeout_s
        reply = await transport.json("POST", "/api/chat", asked | nothing, within_s=limit)
    _check(reply, transport, deed)


def _check(reply: JsonValue, transport: Transport, deed: str) -> None:
    said = as_object(reply)
    if is_error(said):
        raise stream_error(said, transport.place)
    if said.get("done") is not True:
        raise transport.place.error(
            ErrorCode.ENGINE_ERROR,
            f"{transport.place.label} did not {deed} the model, and did not say why.",
            "Check the server's log.",
            fault="unended",
        )


def _slow(transport: Transport) -> float:
    """How long work on large files may take, in seconds."""
    return max(transport.spec.list_timeout_s, transport.spec.idle_timeout_s)


@contextmanager
def _named(transport: Transport, deed: str, name: str | None = None) -> Iterator[None]:
    """Say of a request that fails what is missing there; `name` is the model that it names."""
    try:
        yield
    except AIError as error:
        unknown = unknown_here(error, transport.place, deed, names_model=name is not None)
        if name is not None:
            explain_bad_name(error, name)
        raise unknown or error from None
