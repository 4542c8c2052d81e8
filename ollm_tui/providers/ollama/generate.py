"""What `/api/generate` does beside chatting: it fills gaps in a text, and draws.

Ollama drew from 0.14 to 0.32.4, and may again; other versions refuse a model that draws.
"""

from functools import partial

from ollm_tui.decode.json_fields import as_object, present, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ProviderStream, ReportDrawing
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.drawing import (
    MAX_REPLY_BYTES,
    Drawing,
    decode_base64,
    drawing_of,
    drawn,
    encode_base64,
    no_picture,
    unless_stopped,
)
from ollm_tui.providers.media.inputs import VERBATIM, gap_of
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.ollama.refusals import adapt, unknown_path
from ollm_tui.providers.ollama.to_wire import options_body
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import Transport

_PATH = "/api/generate"
_NO_MORE = "image generation models are not currently supported"


class GenerateDecoder(OllamaDecoder):
    """Reads the text of `/api/generate`, which is beside no message."""

    def _read_object(self, line: JsonObject) -> None:
        if isinstance(line.get("response"), str) and "error" not in line:
            line = {**line, "message": {"content": line["response"]}}
        super()._read_object(line)


def infill_by_ollama(transport: Transport, request: Request) -> ProviderStream:
    """Stream the text between the input and its suffix.

    Raises:
        AIError: what cannot be sent.
    """
    prefix, suffix = gap_of(request, "num_ctx", "keep_alive")
    body: JsonObject = {"model": request.model, "prompt": prefix, "suffix": suffix, "stream": True}
    plan = RequestPlan(
        path=_PATH,
        body=partial(_as_it_is, body | options_body(request.options)),
        decoder=partial(GenerateDecoder, transport.endpoint, VERBATIM),
        adapt=adapt,
    )
    return answer_stream(transport, plan, request.signal)


def _as_it_is(body: JsonObject, _on_left_out: OnLeftOut) -> JsonObject:
    return body


async def draw_by_ollama(
    transport: Transport, request: Request, _report: ReportDrawing | None = None
) -> Response:
    """Return the pictures of the input's text, each by a request of its own.

    Raises:
        AIError: any failure; UNSUPPORTED_FEATURE if this version does not draw.
    """
    drawing = await drawing_of(request)
    return await unless_stopped(request.signal, partial(_drawn, transport, drawing))


async def _drawn(transport: Transport, drawing: Drawing) -> Response:
    endpoint = transport.endpoint
    if drawing.mask is not None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{endpoint.label} takes no mask.",
            hint="Leave it out, or choose a model of another provider.",
        )
    data = []
    for number in range(drawing.count):
        reply = await _asked(transport, await _body(drawing, number))
        picture = string(reply, "image")
        if picture is None:
            raise no_picture(endpoint, reply)
        data.append(await decode_base64(picture))
    return Response(content=await drawn(endpoint, data), finish_reason="stop")


async def _asked(transport: Transport, body: JsonObject) -> JsonObject:
    within_s = transport.spec.first_byte_timeout_s
    try:
        reply = await transport.json(
            "POST", _PATH, body, within_s=within_s, max_bytes=MAX_REPLY_BYTES
        )
    except AIError as error:
        if _NO_MORE in error.message:
            raise _does_not_draw(error, transport.endpoint) from error
        raise unknown_path(error, transport.endpoint, "draw") or error from None
    return as_object(reply)


def _does_not_draw(error: AIError, endpoint: Endpoint) -> AIError:
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"This version of {endpoint.label} does not draw.",
        hint="Versions 0.14 to 0.32.4 do; or choose a model of another provider.",
        status=error.status,
        provider=endpoint.provider,
    )


async def _body(drawing: Drawing, number: int) -> JsonObject:
    width, height = drawing.size or (None, None)
    sizes: dict[str, JsonValue] = {"width": width, "height": height}
    body: JsonObject = {"model": drawing.model, "prompt": drawing.prompt, "stream": False}
    if drawing.pictures:
        body["images"] = [await encode_base64(picture) for picture in drawing.pictures]
    if drawing.seed is not None:
        body["options"] = {"seed": drawing.seed + number}
    return body | present(sizes) | drawing.more
