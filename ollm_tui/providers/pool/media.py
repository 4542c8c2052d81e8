"""What a pool makes of single inputs: vectors, speech, text, pictures, videos, music.

The jobs of members are known by their server, too, so that the right one is asked about them.
"""

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    ProviderStream,
    ReportDrawing,
    ReportSegment,
)
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.pool.selection import MemberSelection
from ollm_tui.providers.pool.stream import pooled_stream

Send: TypeAlias = Callable[[ProviderAdapter], Coroutine[Any, Any, Any]]


def call_of(method: str, *arguments: object, **named: object) -> Send:
    """Return a function that calls this method of a member, which is known to have it."""

    async def send(adapter: ProviderAdapter) -> Any:
        return await getattr(adapter, method)(*arguments, **named)

    return send


class PoolMedia:
    """The operations; each is that of one member."""

    def __init__(self, selection: MemberSelection) -> None:
        self._selection = selection

    def speak(self, request: Request) -> ProviderStream:
        """Stream the sound of the least busy member, or of the next one if it is down."""
        return pooled_stream(self._selection, request, "speak")

    def make_music(self, request: Request) -> ProviderStream:
        """Stream the music of the least busy member, or of the next one if it is down."""
        return pooled_stream(self._selection, request, "make_music")

    def infill(self, request: Request) -> ProviderStream:
        """Stream the text of the least busy member, or of the next one if it is down."""
        return pooled_stream(self._selection, request, "infill")

    async def transcribe(self, request: Request) -> Response:
        """Return the transcription of the first member that replies."""
        return await self._first(request, call_of("transcribe", request))

    async def transcribe_segments(self, request: Request, report: ReportSegment) -> Response:
        """Return the transcription of the first member that replies."""
        return await self._first(request, call_of("transcribe_segments", request, report))

    async def embed(self, request: Request) -> Response:
        """Return the vectors of the first member that replies."""
        return await self._first(request, call_of("embed", request))

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the first member that replies."""
        return await self._first(request, self._reporting("draw", request, report))

    async def make_video(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the videos of the first member that replies."""
        return await self._first(request, self._reporting("make_video", request, report))

    async def resume_drawing(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the pictures of a job from the member that has it."""
        return await self._resumed("resume_drawing", job, request, report)

    async def resume_video(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the video of a job from the member that has it."""
        return await self._resumed("resume_video", job, request, report)

    async def _first(self, request: Request, send: Send) -> Response:
        reply: Response = await self._selection.first_reply(request.model, send)
        return reply

    def _reporting(self, method: str, request: Request, report: ReportDrawing | None) -> Send:
        """Return a call of a member whose jobs are reported with the name of the member."""

        async def send(adapter: ProviderAdapter) -> Any:
            names = (one.address for one in self._selection.members if one.adapter is adapter)
            named = None if report is None else _with_member(next(names), report)
            return await getattr(adapter, method)(request, named)

        return send

    async def _resumed(
        self, method: str, job: str, request: Request, report: ReportDrawing | None
    ) -> Response:
        mark, _, own = job.partition(":")
        for number, member in enumerate(self._selection.members):
            if own and _mark(member.address) == mark:
                named = None if report is None else _with_member(member.address, report)
                with self._selection.attempt(number) as adapter:
                    reply: Response = await getattr(adapter, method)(own, request, named)
                    return reply
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{self._selection.label} has no server with this job.",
            hint="It was left out of the settings: make it again.",
            provider=self._selection.name,
        )


def _with_member(address: str, report: ReportDrawing) -> ReportDrawing:
    async def named(progress: DrawingProgress) -> None:
        job = None if progress.job is None else f"{_mark(address)}:{progress.job}"
        await report(replace(progress, job=job))

    return named


def _mark(address: str) -> str:
    """Return a name of a member that stays when others are added, and tells no address."""
    return hashlib.sha256(address.encode()).hexdigest()[:12]
