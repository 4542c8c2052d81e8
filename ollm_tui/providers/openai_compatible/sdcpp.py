"""stable-diffusion.cpp's server: pictures and videos as jobs, which it keeps for some minutes.

Its jobs report their place in the queue but not their steps, and only those that wait can be
cancelled: a picture that is being made is finished by the server.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal
from urllib.parse import quote

from ollm_tui.decode.json_fields import (
    as_object,
    integer,
    objects,
    positive,
    present,
    string,
    strings,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.drawing import (
    MAX_PICTURES,
    Drawing,
    decode_base64,
    drawing_of,
    drawn,
    encode_base64,
    no_picture,
    unless_stopped,
)
from ollm_tui.providers.media.video import (
    MAX_REPLY_BYTES,
    VideoOrder,
    each_video,
    no_video,
    video_content,
    video_order,
)
from ollm_tui.providers.openai_compatible.jobs import JobProtocol, failed, submit, wait_for
from ollm_tui.providers.openai_compatible.models import DRAWS, FILMS
from ollm_tui.providers.openai_compatible.operations import draws_only, offered
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec

_RUNNING: Final = frozenset({"queued", "generating"})


class SdCppProvider(OpenAICompatibleProvider):
    """A server of stable-diffusion.cpp with its one model."""

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec)
        self._jobs = JobProtocol(
            ask=self._state, cancel=self._cancel, running=_RUNNING, progress=_progress
        )

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the input's text by `/sdcpp/v1/img_gen`.

        Raises:
            AIError: any failure.
        """
        drawing = await drawing_of(request)
        body = await _body(drawing)
        return await unless_stopped(request.signal, partial(self._draw, body, report))

    async def resume_drawing(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the pictures of a job; BAD_REQUEST if the server no longer has it.

        Raises:
            AIError: any failure.
        """
        return await unless_stopped(request.signal, partial(self._pictures, job, report))

    async def make_video(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the videos of the input's text by `/sdcpp/v1/vid_gen`.

        Raises:
            AIError: any failure.
        """
        order = await video_order(request)
        work = partial(each_video, order, partial(self._film, report=report))
        return await unless_stopped(request.signal, work)

    async def resume_video(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the video of a job; BAD_REQUEST if the server no longer has it.

        Raises:
            AIError: any failure.
        """
        return await unless_stopped(request.signal, partial(self._video, job, report))

    async def _prepare(self, request: Request) -> None:
        raise draws_only(self._transport.endpoint, request.model)

    async def _draw(self, body: JsonObject, report: ReportDrawing | None) -> Response:
        with offered(self._transport.endpoint, "pictures"):
            reply = await self._submit("img_gen", body)
        job = string(reply, "id")
        if job is None:
            raise no_picture(self._transport.endpoint, reply)
        return await self._pictures(job, report)

    async def _film(self, order: VideoOrder, report: ReportDrawing | None) -> Response:
        body = await _video_body(order)
        with offered(self._transport.endpoint, "videos"):
            reply = await self._submit("vid_gen", body)
        job = string(reply, "id")
        if job is None:
            raise no_video(self._transport.endpoint, reply)
        return await self._video(job, report)

    async def _submit(self, mode: Literal["img_gen", "vid_gen"], body: JsonObject) -> JsonObject:
        within_s = self._transport.spec.first_byte_timeout_s
        path = f"/sdcpp/v1/{mode}"
        send = partial(self._root_json, "POST", path, body, within_s=within_s)
        return await submit(send, self._jobs)

    async def _pictures(self, job: str, report: ReportDrawing | None) -> Response:
        endpoint = self._transport.endpoint
        state = await wait_for(job, self._jobs, endpoint, report)
        if string(state, "status") != "completed":
            raise failed(state, "picture", endpoint)
        images = objects(as_object(state.get("result")).get("images"))
        images.sort(key=lambda image: integer(image, "index") or 0)
        texts = [string(image, "b64_json") or "" for image in images[:MAX_PICTURES]]
        pictures = await drawn(endpoint, [await decode_base64(text) for text in texts])
        return Response(content=pictures, finish_reason="stop")

    async def _video(self, job: str, report: ReportDrawing | None) -> Response:
        endpoint = self._transport.endpoint
        state = await wait_for(job, self._jobs, endpoint, report)
        if string(state, "status") != "completed":
            raise failed(state, "video", endpoint)
        data = await decode_base64(string(as_object(state.get("result")), "b64_json") or "")
        return Response(content=(video_content(endpoint, data),), finish_reason="stop")

    async def _state(self, job: str) -> JsonValue:
        return await self._root_json("GET", _path(job), max_bytes=MAX_REPLY_BYTES)

    async def _cancel(self, job: str) -> None:
        with suppress(AIError):
            await self._root_json("POST", f"{_path(job)}/cancel")

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        return read_sdcpp(await self._root_json("GET", "/sdcpp/v1/capabilities"))


def _path(job: str) -> str:
    return f"/sdcpp/v1/jobs/{quote(job, safe='')}"


def _progress(state: JsonObject) -> DrawingProgress:
    return DrawingProgress(queue_position=positive(state, "queue_position"))


async def _body(drawing: Drawing) -> JsonObject:
    body: JsonObject = {"prompt": drawing.prompt, "batch_count": drawing.count}
    # Without one, each picture of a prompt would be the same.
    body["seed"] = -1 if drawing.seed is None else drawing.seed
    if drawing.size is not None:
        body["width"], body["height"] = drawing.size
    if drawing.pictures:
        # As the server itself reads an edit: models that edit take references, others a start.
        pictures: list[JsonValue] = [await encode_base64(picture) for picture in drawing.pictures]
        body |= {"init_image": pictures[0], "ref_images": pictures}
    if drawing.mask is not None:
        body["mask_image"] = await encode_base64(drawing.mask)
    return body | drawing.more


async def _video_body(order: VideoOrder) -> JsonObject:
    frames, fps = order.length
    width, height = order.size or (None, None)
    body: dict[str, JsonValue] = {"width": width, "height": height}
    body |= {"video_frames": frames, "fps": fps}
    if order.picture is not None:
        body["init_image"] = await encode_base64(order.picture)
    head: JsonObject = {"prompt": order.prompt, "seed": -1 if order.seed is None else order.seed}
    return head | present(body) | order.more


def read_sdcpp(reply: JsonValue) -> list[ModelInfo]:
    """Read `/sdcpp/v1/capabilities`: the one model, with what it makes."""
    entry = as_object(reply)
    model = as_object(entry.get("model"))
    name = string(model, "stem") or string(model, "name")
    if not name:
        return []
    modes = strings(entry.get("supported_modes")) or ["img_gen"]
    made = {"img_gen": DRAWS, "vid_gen": FILMS}
    known = [made[mode] for mode in modes if mode in made] or [DRAWS]
    capability = ModelCapability(
        frozenset().union(*(one.input for one in known)),
        frozenset().union(*(one.output for one in known)),
    )
    return [ModelInfo(name=name, capability=capability, loaded=True)]
