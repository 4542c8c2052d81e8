"""Pictures by `/sdapi/v1`, as AUTOMATIC1111's web UI, its forks and KoboldCpp take them."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

import anyio

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.json_fields import as_object, integer, objects, string, strings
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
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
from ollm_tui.providers.openai_compatible.models import DRAWS
from ollm_tui.providers.openai_compatible.operations import draws_only, offered
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.tasks import task_group

PROGRESS_S: Final = 0.4
"""How often the server is asked how far it is."""
INTERRUPT_S: Final = 0.25
"""How long an interruption may delay the end of a request."""


class SendsJson(Protocol):
    """Sends requests to one server."""

    def __call__(
        self,
        method: str,
        path: str,
        body: JsonMapping | None = None,
        *,
        within_s: float | None = None,
        max_bytes: int = ...,
    ) -> Awaitable[JsonValue]:
        """Send a request to a path below the server's root, and return the parsed reply."""


class SdApi:
    """The drawing interface of one server."""

    def __init__(self, send: SendsJson, endpoint: Endpoint, within_s: float) -> None:
        """Take how requests are sent, and the time limit of a drawing."""
        self._send = send
        self._endpoint = endpoint
        self._within_s = within_s

    async def draw(
        self,
        request: Request,
        report: ReportDrawing | None = None,
        settings: JsonMapping | None = None,
    ) -> Response:
        """Return pictures by `txt2img`, or of the input's picture by `img2img`.

        `settings` are those of the server that this request overrides. An end before the reply
        interrupts the server, unless it is known to report no steps.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        drawing = await drawing_of(request)
        body = await _body(drawing)
        if settings:
            body = {"override_settings": dict(settings), **body}
        path = f"/sdapi/v1/{'img2img' if drawing.pictures else 'txt2img'}"
        work = partial(self._drawn, path, body, drawing.count, report)
        return await unless_stopped(request.signal, work)

    async def models(self) -> list[ModelInfo]:
        """Return the models that draw; none if the server has no such interface."""
        try:
            return read_sd_models(await self._send("GET", "/sdapi/v1/sd-models"))
        except AIError:
            return []

    async def _drawn(
        self, path: str, body: JsonObject, count: int, report: ReportDrawing | None
    ) -> Response:
        watch = _Watch(self._send, report)
        has_ended = False
        reply: JsonObject = {}
        try:
            async with task_group() as group:
                group.start_soon(watch.run)
                try:
                    with offered(self._endpoint, "pictures"):
                        reply = await self._submit(path, body)
                except AIError as error:
                    has_ended = error.status is not None  # it refused: what it draws is another's
                    raise
                has_ended = True
                group.cancel_scope.cancel()
        finally:
            if not has_ended and not watch.is_refused:
                with anyio.move_on_after(INTERRUPT_S, shield=True), suppress(AIError):
                    await self._send("POST", "/sdapi/v1/interrupt", {})
        texts = strings(reply.get("images"))[:count]  # extensions append others
        if not texts:
            raise no_picture(self._endpoint, reply)
        pictures = await drawn(self._endpoint, [await decode_base64(text) for text in texts])
        return Response(content=pictures, finish_reason="stop")

    async def _submit(self, path: str, body: JsonObject) -> JsonObject:
        within_s, most = self._within_s, MAX_REPLY_BYTES
        return as_object(await self._send("POST", path, body, within_s=within_s, max_bytes=most))


class _Watch:
    """Asks how far a drawing is, as long as the server says so."""

    def __init__(self, send: SendsJson, report: ReportDrawing | None) -> None:
        self._send = send
        self._report = report
        self.is_refused = False
        """Whether the server does not report, and so cannot be interrupted either."""

    async def run(self) -> None:
        """Report each step."""
        while True:
            await anyio.sleep(PROGRESS_S)
            try:
                reply = as_object(await self._send("GET", "/sdapi/v1/progress"))
            except AIError as error:
                self.is_refused = error.status is not None
                return  # KoboldCpp, for one, does not report
            state = as_object(reply.get("state"))
            step, total = integer(state, "sampling_step"), integer(state, "sampling_steps")
            if step is None or not total:
                continue
            if self._report is not None:
                preview = await decode_base64(string(reply, "current_image") or "")
                await self._report(DrawingProgress(step=step, total_steps=total, preview=preview))


async def _body(drawing: Drawing) -> JsonObject:
    body: JsonObject = {"prompt": drawing.prompt, "batch_size": drawing.count}
    size = drawing.size
    if drawing.pictures:
        body["init_images"] = [await encode_base64(picture) for picture in drawing.pictures]
        header = read_image_header(drawing.pictures[0])
        if size is None and header is not None:  # else it becomes a square
            size = header.width, header.height
    if drawing.mask is not None:
        body["mask"] = await encode_base64(drawing.mask)
    if size is not None:
        body["width"], body["height"] = size
    if drawing.seed is not None:
        body["seed"] = drawing.seed
    return body | drawing.more


def read_sd_models(reply: JsonValue) -> list[ModelInfo]:
    """Read `/sdapi/v1/sd-models`."""
    names = (
        string(entry, "model_name") or string(entry, "title") or "" for entry in objects(reply)
    )
    return [ModelInfo(name=name, capability=DRAWS) for name in dict.fromkeys(names) if name]


class SdWebUIProvider(OpenAICompatibleProvider):
    """AUTOMATIC1111's web UI, started with `--api`, or a fork of it."""

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the input's text; another model than the last is loaded first.

        Raises:
            AIError: any failure.
        """
        settings = {"sd_model_checkpoint": request.model}
        return await self._sdapi().draw(request, report, settings)

    async def _prepare(self, request: Request) -> None:
        raise draws_only(self._transport.endpoint, request.model)

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        return read_sd_models(await self._root_json("GET", "/sdapi/v1/sd-models"))

    def _sdapi(self) -> SdApi:
        transport = self._transport
        return SdApi(self._root_json, transport.endpoint, transport.spec.first_byte_timeout_s)
