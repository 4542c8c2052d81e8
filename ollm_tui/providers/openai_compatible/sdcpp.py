"""stable-diffusion.cpp's server: pictures as jobs, which it keeps for some minutes.

Its jobs report their place in the queue but not their steps, and only those that wait can be
cancelled: a picture that is being made is finished by the server.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import anyio

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string, strings
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.drawing import (
    LARGEST_REPLY,
    MOST_PICTURES,
    Drawing,
    decoded,
    drawing_of,
    drawn,
    encoded,
    no_picture,
    unless_stopped,
)
from ollm_tui.providers.openai_compatible.models import DRAWS, FILMS
from ollm_tui.providers.openai_compatible.operations import (
    MAX_REASON_CHARS,
    draws_only,
    offered,
    poll,
)
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider

CANCEL_S: Final = 0.25
"""How long cancelling a job may delay the end of a request."""
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


class SdCppProvider(OpenAICompatibleProvider):
    """A server of stable-diffusion.cpp with its one model."""

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
        return await unless_stopped(request.signal, partial(self._follow, job, report))

    async def _prepare(self, request: Request) -> None:
        raise draws_only(self._transport.endpoint, request.model)

    async def _draw(self, body: JsonObject, report: ReportDrawing | None) -> Response:
        with offered(self._transport.endpoint, "pictures"):
            reply = await self._submit(body)
        job = string(reply, "id")
        if job is None:
            raise no_picture(self._transport.endpoint, reply)
        return await self._follow(job, report)

    async def _submit(self, body: JsonObject) -> JsonObject:
        """Send a job; leaving early waits a moment for its id and cancels it.

        Without that, a request that was on its way would be drawn for nobody.
        """
        reply: JsonObject = {}
        error: AIError | None = None
        answered, sending = anyio.Event(), anyio.CancelScope(shield=True)
        within_s = self._transport.spec.first_byte_timeout_s

        async def send() -> None:
            nonlocal reply, error
            try:
                with sending:
                    answer = self._root_json("POST", "/sdcpp/v1/img_gen", body, within_s=within_s)
                    reply = as_object(await answer)
            except AIError as failure:
                error = failure
            answered.set()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(send)
                try:
                    await answered.wait()
                finally:
                    sending.deadline = anyio.current_time() + CANCEL_S
        except anyio.get_cancelled_exc_class():
            job = string(reply, "id")
            if job is not None:
                await self._cancel(_path(job))
            raise
        if error is not None:
            raise error
        return reply

    async def _follow(self, job: str, report: ReportDrawing | None) -> Response:
        """Wait for the end of a job; leaving early cancels it, if it has not begun."""
        has_ended = False
        path = _path(job)
        try:
            async for reply in poll(partial(self._state, path)):
                state = as_object(reply)
                has_ended = string(state, "status") not in ("queued", "generating")
                if has_ended:
                    return await self._pictures(state)
                if report is not None:
                    place = positive(state, "queue_position")
                    await report(DrawingProgress(job=job, queue_position=place))
        except AIError as error:
            has_ended = True
            if error.status not in _GONE:
                raise
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"{self.label} no longer has this drawing.",
                hint="It keeps one for ten minutes; draw it again.",
                status=error.status,
                provider=self.name,
            ) from error
        finally:
            if not has_ended:
                await self._cancel(path)
        raise no_picture(self._transport.endpoint, {})

    async def _cancel(self, path: str) -> None:
        with anyio.move_on_after(CANCEL_S, shield=True), suppress(AIError):
            await self._root_json("POST", f"{path}/cancel")

    async def _state(self, path: str) -> JsonValue:
        return await self._root_json("GET", path, most_bytes=LARGEST_REPLY)

    async def _pictures(self, state: JsonObject) -> Response:
        endpoint = self._transport.endpoint
        if string(state, "status") != "completed":
            reason = string(as_object(state.get("error")), "message") or "no reason was given"
            raise endpoint.error(
                ErrorCode.ENGINE_ERROR,
                f"{endpoint.label} made no picture: "
                f"{endpoint.redacted(reason)[:MAX_REASON_CHARS].rstrip('.')}.",
                "Check the server's log.",
            )
        images = objects(as_object(state.get("result")).get("images"))
        images.sort(key=lambda image: integer(image, "index") or 0)
        texts = [string(image, "b64_json") or "" for image in images[:MOST_PICTURES]]
        pictures = await drawn(endpoint, [await decoded(text) for text in texts])
        return Response(content=pictures, finish_reason="stop")

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        return read_sdcpp(await self._root_json("GET", "/sdcpp/v1/capabilities"))


def _path(job: str) -> str:
    return f"/sdcpp/v1/jobs/{quote(job, safe='')}"


async def _body(drawing: Drawing) -> JsonObject:
    body: JsonObject = {"prompt": drawing.prompt, "batch_count": drawing.count}
    # Without one, each picture of a prompt would be the same.
    body["seed"] = -1 if drawing.seed is None else drawing.seed
    if drawing.size is not None:
        body["width"], body["height"] = drawing.size
    if drawing.pictures:
        # As the server itself reads an edit: models that edit take references, others a start.
        pictures: list[JsonValue] = [await encoded(picture) for picture in drawing.pictures]
        body |= {"init_image": pictures[0], "ref_images": pictures}
    if drawing.mask is not None:
        body["mask_image"] = await encoded(drawing.mask)
    return body | drawing.more


def read_sdcpp(reply: JsonValue) -> list[ModelInfo]:
    """Read `/sdcpp/v1/capabilities`: the one model, with what it makes."""
    entry = as_object(reply)
    model = as_object(entry.get("model"))
    name = string(model, "stem") or string(model, "name")
    if not name:
        return []
    modes = strings(entry.get("supported_modes")) or ["img_gen"]
    capability = DRAWS if "img_gen" in modes else FILMS
    return [ModelInfo(name=name, capability=capability, loaded=True)]
