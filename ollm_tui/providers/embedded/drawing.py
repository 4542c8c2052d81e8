"""Pictures by the engine of this machine."""

from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from ollm_tui.decode.images import read_image_header
from ollm_tui.decode.json_fields import integer, present
from ollm_tui.engines.frames import PIECE, PROGRESS, Frame
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.embedded.drawing_plans import DrawingPlanner
from ollm_tui.providers.embedded.worker import WorkerPlan, Workers, until
from ollm_tui.providers.media.drawing import Drawing, drawing_of

MAX_PROMPT_LENGTH: Final = 100_000
MAX_SEED: Final = 2**63 - 17
_NUMBERS: Final = frozenset({"steps", "cfg_scale", "guidance", "strength"})
_TEXTS: Final = frozenset({"negative_prompt", "sampler", "scheduler"})
_KEYS: Final = frozenset({"size", "n"}) | _NUMBERS | _TEXTS


class DrawingOperations:
    """Answers requests for pictures, loading the model if needed."""

    def __init__(self, planner: DrawingPlanner, workers: Workers, provider: str) -> None:
        self._drawing_planner = planner
        self._drawing_workers = workers
        self._drawing_provider = provider

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the input's text, or of its picture changed as the text says.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        drawing = await drawing_of(request)
        _check(drawing)
        try:
            plan = await self._drawing_plan(request)
            fields, data = _job(drawing, plan)
            return await self._drawn(plan, request, (fields, data), report)
        except AIError as error:
            error.provider = error.provider or self._drawing_provider
            raise

    async def _drawing_plan(self, request: Request) -> WorkerPlan:
        plan = await until(
            request.signal,
            lambda: to_thread.run_sync(
                lambda: self._drawing_planner.plan(request.model, is_required=True)
            ),
        )
        assert plan is not None  # a model that draws was required
        return plan

    async def _drawn(
        self,
        plan: WorkerPlan,
        request: Request,
        job: tuple[JsonObject, bytes],
        report: ReportDrawing | None,
    ) -> Response:
        pictures: list[ImageContent] = []
        seeds: list[JsonValue] = []
        async with self._drawing_workers.job(plan, *job, signal=request.signal) as frames:
            async for frame in frames:
                if frame.type == PIECE and integer(frame.fields, "step") is None:
                    pictures.append(_picture(frame, plan))
                    seeds.append(integer(frame.fields, "seed"))
                elif frame.type in (PIECE, PROGRESS) and report is not None:
                    step, total = integer(frame.fields, "step"), integer(frame.fields, "total")
                    await report(DrawingProgress(step=step, total_steps=total, preview=frame.data))
        if not pictures:
            raise _no_picture(plan)
        metadata: JsonObject = {"seeds": seeds}
        return Response(content=tuple(pictures), finish_reason="stop", metadata=metadata)


def _check(drawing: Drawing) -> None:
    """Check what the engine takes.

    Raises:
        AIError: UNSUPPORTED_FEATURE for an option that it has not; BAD_REQUEST for a wrong value.
    """
    body = drawing.extra_body
    if unknown := sorted(body.keys() - _KEYS):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"`{unknown[0][:40]}` is no option for pictures with the built-in engine.",
            hint=f"It takes {', '.join(sorted(_KEYS))}.",
        )
    if body.get("size") is not None and drawing.size is None:
        raise _wrong("size", "a width and a height, such as 512x512")
    for key in sorted(_NUMBERS & body.keys()):
        value = body[key]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _wrong(key, "a number")
    for key in sorted(_TEXTS & body.keys()):
        if body[key] is not None and not isinstance(body[key], str):
            raise _wrong(key, "a text")
    if drawing.seed is not None and not -MAX_SEED <= drawing.seed <= MAX_SEED:
        raise _wrong("seed", f"a number up to {MAX_SEED}")
    if len(drawing.prompt) + len(str(body.get("negative_prompt") or "")) > MAX_PROMPT_LENGTH:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The prompt has {len(drawing.prompt):,} characters, too many.",
            hint=f"It may have {MAX_PROMPT_LENGTH:,}.",
        )


def _wrong(key: str, takes: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"`{key}` of pictures takes {takes}.")


def _job(drawing: Drawing, plan: WorkerPlan) -> tuple[JsonObject, bytes]:
    """Return the fields and the data of a job, as `engines/drawing.py` takes them."""
    body = drawing.more
    negative = body.pop("negative_prompt", None)
    parts = [("prompt", drawing.prompt.encode(errors="replace"))]
    if isinstance(negative, str):
        parts.append(("negative_prompt", negative.encode(errors="replace")))
    kind = "reference" if plan.options.get("is_editor") is True else "picture"
    parts += [(kind, picture) for picture in drawing.pictures]
    if drawing.mask is not None:
        parts.append(("mask", drawing.mask))
    lengths: list[JsonValue] = [[name, len(data)] for name, data in parts]
    width, height = drawing.size or (None, None)
    fields = {"count": drawing.count, "seed": drawing.seed, "width": width, "height": height}
    return present({**body, **fields}) | {"parts": lengths}, b"".join(_data_of(parts))


def _data_of(parts: Sequence[tuple[str, bytes]]) -> Sequence[bytes]:
    return [data for _, data in parts]


def _picture(frame: Frame, plan: WorkerPlan) -> ImageContent:
    header = read_image_header(frame.data)
    if header is None:
        raise _no_picture(plan)
    return ImageContent(
        data=frame.data,
        mime_type=f"image/{header.kind}",
        width=header.width,
        height=header.height,
    )


def _no_picture(plan: WorkerPlan) -> AIError:
    return AIError(ErrorCode.ENGINE_ERROR, f"{plan.engine} made no picture.", retryable=True)
