"""Pictures by `/images/generations`."""

from contextlib import ExitStack
from typing import Final

import anyio

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.json_fields import as_object, integer, objects, present, string
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.media.encoding import base64_bytes
from ollm_tui.providers.openai_compatible.audio import text_of
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.openai_compatible.own_links import download
from ollm_tui.providers.transport import Transport
from ollm_tui.providers.unsupported import check_input

LARGEST_REPLY: Final = 64 * 1024 * 1024
LARGEST_PICTURE: Final = 32 * 1024 * 1024
MOST_PICTURES: Final = 10
_DATA_ONLY: Final = "gpt-image"
"""Models of OpenAI that always send data, and refuse to be asked for it."""


async def draw(transport: Transport, request: Request) -> Response:
    """Return the pictures of the request's text, with their data.

    The time limit of each request is that of a first answer. A picture behind a link is only
    downloaded from the server itself.

    Raises:
        AIError: any failure; ABORTED by the request's signal.
    """
    check_input(request, "pictures", "image", {"seed"})
    body = _body(request)
    with anyio.CancelScope() as scope, ExitStack() as listening:
        if request.signal is not None:
            listening.callback(request.signal.subscribe(scope.cancel))
        with offered(transport.endpoint, "pictures"):
            reply = await transport.json(
                "POST",
                "/images/generations",
                body,
                within_s=transport.spec.first_byte_timeout_s,
                most_bytes=LARGEST_REPLY,
            )
        return await _response(transport, as_object(reply))
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")


def _body(request: Request) -> JsonObject:
    body: JsonObject = {"model": request.model, "prompt": text_of(request, "A picture")}
    body |= present({"seed": request.options.seed})
    if not request.model.startswith(_DATA_ONLY):
        body["response_format"] = "b64_json"
    return body | dict(request.options.extra_body or {})


async def _response(transport: Transport, reply: JsonObject) -> Response:
    entries = objects(reply.get("data"))[:MOST_PICTURES]
    if not entries:
        raise _no_picture(transport, reply)
    pictures = [await _picture(transport, entry) for entry in entries]
    prompts: list[JsonValue] = [string(entry, "revised_prompt") for entry in entries]
    return Response(
        content=tuple(pictures),
        finish_reason="stop",
        usage=_usage(as_object(reply.get("usage"))),
        metadata={"revised_prompts": prompts} if any(prompts) else {},
    )


def _usage(usage: JsonObject) -> Usage | None:
    given, made = integer(usage, "input_tokens"), integer(usage, "output_tokens")
    if given is None and made is None:
        return None
    return Usage(prompt_tokens=given, completion_tokens=made)


async def _picture(transport: Transport, entry: JsonObject) -> ImageContent:
    link, text = string(entry, "url"), string(entry, "b64_json")
    if text is None and link is not None and link.startswith("data:"):
        text = link
    if text is not None:
        data = _decoded(text)
    elif link:
        data = await download(transport, link, most_bytes=LARGEST_PICTURE)
    else:
        raise _no_picture(transport, entry)
    header = read_image_header(data)
    if header is None or len(data) > LARGEST_PICTURE:
        raise _no_picture(transport, {})
    return ImageContent(
        data=data,
        mime_type=f"image/{header.kind}",
        width=header.width,
        height=header.height,
    )


def _decoded(text: str) -> bytes:
    """Return the bytes of base64 text; none if it is not valid."""
    try:
        return base64_bytes("".join(text.split()))
    except AIError:
        return b""


def _no_picture(transport: Transport, reply: JsonObject) -> AIError:
    endpoint = transport.endpoint
    if is_error(reply):
        return stream_error(reply, endpoint)
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} sent no picture that can be read.",
        "Check that the model makes pictures, and the server's log.",
    )
