"""Videos by `/videos`, as OpenAI and vLLM-Omni take them: a job, whose result is downloaded."""

import json
from contextlib import suppress
from functools import partial
from typing import Final
from urllib.parse import quote

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.json_fields import as_object, integer, objects, present, string
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.drawing import decode_base64, unless_stopped
from ollm_tui.providers.media.multipart import FormFile, multipart
from ollm_tui.providers.media.video import (
    MAX_REPLY_BYTES,
    MAX_VIDEO_BYTES,
    VideoOrder,
    each_video,
    no_video,
    video_content,
    video_order,
)
from ollm_tui.providers.openai_compatible.jobs import JobProtocol, failed, submit, wait_for
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.openai_compatible.own_links import download
from ollm_tui.providers.transport import Transport

_RUNNING: Final = frozenset({"queued", "pending", "in_progress", "processing", "running"})
_COMPLETE: Final = frozenset({"completed", "complete", "succeeded"})
_PERCENT: Final = 100


class Videos:
    """The videos of one server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._jobs = JobProtocol(
            ask=self._ask, cancel=self._cancel, running=_RUNNING, progress=_progress
        )

    async def make(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the videos of the request's text.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        order = await video_order(request)
        work = partial(each_video, order, partial(self._made, report=report))
        return await unless_stopped(request.signal, work)

    async def resume(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the video of a job; BAD_REQUEST if the server no longer has it.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        return await unless_stopped(request.signal, partial(self._wait_for, job, report))

    async def _made(self, order: VideoOrder, report: ReportDrawing | None) -> Response:
        with offered(self._transport.endpoint, "videos"):
            state = await submit(partial(self._send, order), self._jobs)
        job = string(state, "id")
        if objects(state.get("data")) or job is None:  # some reply with the video itself
            return await self._result(state)
        return await self._wait_for(job, report)

    async def _send(self, order: VideoOrder) -> JsonValue:
        content, content_type = _form(order)
        return await self._transport.post(
            "/videos",
            content,
            content_type,
            within_s=self._transport.spec.first_byte_timeout_s,
            max_bytes=MAX_REPLY_BYTES,
        )

    async def _wait_for(self, job: str, report: ReportDrawing | None) -> Response:
        state = await wait_for(job, self._jobs, self._transport.endpoint, report)
        if string(state, "status") not in _COMPLETE:
            raise failed(state, "video", self._transport.endpoint)
        if objects(state.get("data")):
            return await self._result(state)
        link = f"{self._transport.url.rstrip('/')}{_path(job)}/content"
        return self._response(await download(self._transport, link, max_bytes=MAX_VIDEO_BYTES))

    async def _result(self, state: JsonObject) -> Response:
        entry = next(iter(objects(state.get("data"))), {})
        return self._response(await video_data(self._transport, entry or state))

    def _response(self, data: bytes) -> Response:
        return Response(
            content=(video_content(self._transport.endpoint, data),), finish_reason="stop"
        )

    async def _ask(self, job: str) -> JsonValue:
        return await self._transport.json("GET", _path(job), max_bytes=MAX_REPLY_BYTES)

    async def _cancel(self, job: str) -> None:
        with suppress(AIError):
            await self._transport.json("DELETE", _path(job))


async def video_data(transport: Transport, entry: JsonObject) -> bytes:
    """Return the video of a reply, which is in it or behind a link to the same server.

    Raises:
        AIError: ENGINE_ERROR if there is none, UNSUPPORTED_FEATURE for a link elsewhere.
    """
    link, text = string(entry, "url"), string(entry, "b64_json")
    if text is None and link is not None and link.startswith("data:"):
        text = link
    if text is not None:
        return await decode_base64(text)
    if link:
        return await download(transport, link, max_bytes=MAX_VIDEO_BYTES)
    raise no_video(transport.endpoint, entry)


def _path(job: str) -> str:
    return f"/videos/{quote(job, safe='')}"


def _form(order: VideoOrder) -> tuple[bytes, str]:
    body: dict[str, JsonValue] = {
        "model": order.model,
        "prompt": order.prompt,
        "size": None if order.size is None else "x".join(map(str, order.size)),
        "seconds": order.seconds,
        "fps": order.fps,
        "num_frames": order.frames,
        "seed": order.seed,
    }
    body = present(body) | order.more
    fields = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()
    }
    files = []
    if order.picture is not None:
        header = read_image_header(order.picture)
        kind = header.kind if header is not None else "png"
        name = f"input_reference.{kind}"
        files = [FormFile("input_reference", name, f"image/{kind}", order.picture)]
    return multipart(fields, files)


def _progress(state: JsonObject) -> DrawingProgress:
    percent = integer(as_object(state), "progress")
    if string(state, "status") in ("queued", "pending") or percent is None:
        return DrawingProgress()
    return DrawingProgress(step=min(max(percent, 0), _PERCENT), total_steps=_PERCENT)
