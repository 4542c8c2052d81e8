"""LocalAI's own ways to make videos and music: `/video` and `/sound-generation`.

Neither can be cancelled on the server, and neither tells how far it is.
"""

from functools import partial

from ollm_tui.decode.json_fields import as_object, objects, present
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.media.drawing import encode_base64, unless_stopped
from ollm_tui.providers.media.inputs import music_order
from ollm_tui.providers.media.video import (
    MAX_REPLY_BYTES,
    VideoOrder,
    each_video,
    no_video,
    video_content,
    video_order,
)
from ollm_tui.providers.openai_compatible.audio import SpeechDecoder, explain_unknown_path
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.openai_compatible.sdapi import SendsJson
from ollm_tui.providers.openai_compatible.video import video_data
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import Transport


class MusicDecoder(SpeechDecoder):
    """As for speech."""

    _what = "music"
    _can = "makes music"


async def make_video(transport: Transport, send: SendsJson, request: Request) -> Response:
    """Return the videos of the request's text.

    Raises:
        AIError: any failure; ABORTED by the request's signal.
    """
    order = await video_order(request)
    work = partial(each_video, order, partial(_made, transport, send))
    return await unless_stopped(request.signal, work)


async def _made(transport: Transport, send: SendsJson, order: VideoOrder) -> Response:
    endpoint, within_s = transport.endpoint, transport.spec.first_byte_timeout_s
    with offered(endpoint, "videos"):
        reply = as_object(
            await send(
                "POST",
                "/video",
                await _body(order),
                within_s=within_s,
                max_bytes=MAX_REPLY_BYTES,
            )
        )
    entries = objects(reply.get("data"))
    if not entries:
        raise no_video(endpoint, reply)
    data = await video_data(transport, entries[0])
    return Response(content=(video_content(endpoint, data),), finish_reason="stop")


async def _body(order: VideoOrder) -> JsonObject:
    frames, fps = order.length
    width, height = order.size or (None, None)
    body: dict[str, JsonValue] = {
        "width": width,
        "height": height,
        "num_frames": frames,
        "fps": fps,
        "seed": order.seed,
        "start_image": None if order.picture is None else await encode_base64(order.picture),
    }
    head: JsonObject = {
        "model": order.model,
        "prompt": order.prompt,
        "response_format": "b64_json",
    }
    return head | present(body) | order.more


def make_music(transport: Transport, request: Request) -> ProviderStream:
    """Stream the sound that the request's text describes, by ElevenLabs' form of request.

    Raises:
        AIError: what cannot be sent.
    """
    text, seconds, more = music_order(request)
    body: JsonObject = {"model_id": request.model, "text": text}
    body |= present({"duration_seconds": seconds}) | more
    plan = RequestPlan(
        path="/sound-generation",
        body=partial(_as_it_is, body),
        decoder=partial(MusicDecoder, transport.endpoint),
        adapt=partial(explain_unknown_path, transport, "music"),
    )
    return answer_stream(transport, plan, request.signal)


def _as_it_is(body: JsonObject, _on_left_out: OnLeftOut) -> JsonObject:
    return body
