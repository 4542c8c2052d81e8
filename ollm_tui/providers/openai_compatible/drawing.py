"""Pictures by `/images/generations`, and edits by `/images/edits`."""

import json
from functools import partial
from typing import Final

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.json_fields import as_object, integer, objects, present, string
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.drawing import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_REPLY_BYTES,
    Drawing,
    decode_base64,
    drawing_of,
    drawn,
    no_picture,
    unless_stopped,
)
from ollm_tui.providers.media.multipart import FormFile, multipart
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.openai_compatible.own_links import download
from ollm_tui.providers.transport import Transport

_DATA_ONLY: Final = ("gpt-image", "chatgpt-image")
"""Models of OpenAI that always send data, and refuse to be asked for it."""


async def draw(transport: Transport, request: Request) -> Response:
    """Return the pictures of the request's text, or its pictures edited, with their data.

    The time limit of each request is that of a first answer. A picture behind a link is only
    downloaded from the server itself.

    Raises:
        AIError: any failure; ABORTED by the request's signal.
    """
    drawing = await drawing_of(request)
    return await unless_stopped(request.signal, partial(_drawn, transport, drawing))


async def _drawn(transport: Transport, drawing: Drawing) -> Response:
    within_s = transport.spec.first_byte_timeout_s
    what = "edits of pictures" if drawing.pictures else "pictures"
    with offered(transport.endpoint, what):
        if drawing.pictures:
            content, content_type = _form(drawing)
            reply = await transport.post(
                "/images/edits", content, content_type, within_s=within_s, max_bytes=MAX_REPLY_BYTES
            )
        else:
            reply = await transport.json(
                "POST",
                "/images/generations",
                _body(drawing),
                within_s=within_s,
                max_bytes=MAX_REPLY_BYTES,
            )
    return await _response(transport, as_object(reply))


def _body(drawing: Drawing) -> JsonObject:
    body: JsonObject = {"model": drawing.model, "prompt": drawing.prompt}
    body |= present({"seed": drawing.seed})
    if not drawing.model.startswith(_DATA_ONLY):
        body["response_format"] = "b64_json"
    return body | dict(drawing.extra_body)


def _form(drawing: Drawing) -> tuple[bytes, str]:
    fields = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in _body(drawing).items()
    }
    field = "image" if len(drawing.pictures) == 1 else "image[]"
    files = [_file(field, picture) for picture in drawing.pictures]
    if drawing.mask is not None:
        files.append(_file("mask", drawing.mask))
    return multipart(fields, files)


def _file(field: str, picture: bytes) -> FormFile:
    header = read_image_header(picture)
    kind = header.kind if header is not None else "png"
    return FormFile(field, f"{field.removesuffix('[]')}.{kind}", f"image/{kind}", picture)


async def _response(transport: Transport, reply: JsonObject) -> Response:
    entries = objects(reply.get("data"))[:MAX_PICTURES]
    if not entries:
        raise no_picture(transport.endpoint, reply)
    data = [await _data(transport, entry) for entry in entries]
    prompts: list[JsonValue] = [string(entry, "revised_prompt") for entry in entries]
    return Response(
        content=await drawn(transport.endpoint, data),
        finish_reason="stop",
        usage=_usage(as_object(reply.get("usage"))),
        metadata={"revised_prompts": prompts} if any(prompts) else {},
    )


def _usage(usage: JsonObject) -> Usage | None:
    given, made = integer(usage, "input_tokens"), integer(usage, "output_tokens")
    if given is None and made is None:
        return None
    return Usage(prompt_tokens=given, completion_tokens=made)


async def _data(transport: Transport, entry: JsonObject) -> bytes:
    link, text = string(entry, "url"), string(entry, "b64_json")
    if text is None and link is not None and link.startswith("data:"):
        text = link
    if text is not None:
        return await decode_base64(text)
    if link:
        return await download(transport, link, max_bytes=MAX_PICTURE_BYTES)
    raise no_picture(transport.endpoint, entry)
