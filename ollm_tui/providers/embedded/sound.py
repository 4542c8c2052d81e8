"""Speech and transcription by the engines of this machine."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Self

from anyio import to_thread

from ollm_tui.decode.json_fields import number, present, string
from ollm_tui.engines.frames import DONE, PIECE, PROGRESS, Frame
from ollm_tui.protocol.blocks import TextContent, content_to_text
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ProviderStream, ReportSegment
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
    Segment,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base import EndedStream
from ollm_tui.providers.body.unsupported import check_input
from ollm_tui.providers.embedded.sound_plans import SoundPlanner, SoundTask
from ollm_tui.providers.embedded.worker import JobFrames, WorkerPlan, Workers, until
from ollm_tui.providers.media.encoding import sound_of
from ollm_tui.providers.media.wave_file import wave_head

MAX_TEXT_LENGTH: Final = 1_000_000
_SPEECH_KEYS: Final = frozenset({"voice", "speed", "response_format"})
_TRANSCRIPTION_KEYS: Final = frozenset({"language", "prompt", "translate"})


class SoundOperations:
    """Answers requests for speech and transcription, loading the model if needed."""

    def __init__(self, planner: SoundPlanner, workers: Workers, provider: str) -> None:
        self._sound_planner = planner
        self._workers = workers
        self._provider = provider

    def speak(self, request: Request) -> ProviderStream:
        """Stream the sound of the input's text as a WAV file, a sentence at a time.

        Raises:
            AIError: UNSUPPORTED_FEATURE for what no engine here does, BAD_REQUEST for no text.
        """
        check_input(request, "speech", "audio", {"keep_alive"})
        fields = _checked_body(request, "speech", _SPEECH_KEYS)
        wanted = fields.pop("response_format", "wav")
        if wanted != "wav":
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"The built-in engine writes WAV files, not {str(wanted)[:20]}.",
                hint="Name a file that ends in .wav.",
            )
        text = content_to_text(request.input or "")
        if not text.strip():
            raise AIError(ErrorCode.BAD_REQUEST, "Speech takes an input of some text.")
        if len(text) > MAX_TEXT_LENGTH:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"The text has {len(text):,} characters, too many.",
                hint=f"It may have {MAX_TEXT_LENGTH:,}.",
            )
        return self._speech(request, fields, text)

    async def transcribe(self, request: Request) -> Response:
        """Return the text of the input's only sound, with language, duration and segments.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        return await self._transcribed(request, None)

    async def transcribe_segments(self, request: Request, report: ReportSegment) -> Response:
        """As `transcribe`; `report` takes each segment when it is recognized."""
        return await self._transcribed(request, report)

    async def _transcribed(self, request: Request, report: ReportSegment | None) -> Response:
        check_input(request, "transcription", "text", {"temperature", "keep_alive"})
        fields = _checked_body(request, "transcription", _TRANSCRIPTION_KEYS)
        fields |= present({"temperature": request.options.temperature})
        sound = sound_of(request)
        try:
            plan = await self._plan(request, "transcription")
            async with self._workers.job(
                plan,
                fields,
                sound,
                signal=request.signal,
                keep_alive=request.options.keep_alive,
            ) as frames:
                return await _transcription(frames, report)
        except AIError as error:
            error.provider = error.provider or self._provider
            raise

    async def _plan(self, request: Request, task: SoundTask) -> WorkerPlan:
        plan = await until(
            request.signal,
            lambda: to_thread.run_sync(self._sound_planner.plan, request.model, task),
        )
        assert plan is not None  # a task was named
        return plan

    @asynccontextmanager
    async def _speech(
        self, request: Request, fields: JsonObject, text: str
    ) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        async with AsyncExitStack() as stack:
            try:
                plan = await self._plan(request, "speech")
                job = self._workers.job(
                    plan,
                    fields,
                    text.encode(errors="replace"),
                    signal=request.signal,
                    keep_alive=request.options.keep_alive,
                )
                frames = await stack.enter_async_context(job)
            except AIError as error:
                yield EndedStream(_end_of(error, self._provider))
                return
            yield SpeechStream(frames, self._provider)


class SpeechStream(AsyncIterator[ProviderEvent]):
    """The pieces of a WAV file, whose length its head does not say, and one end."""

    def __init__(self, frames: JobFrames, provider: str) -> None:
        self._frames = frames
        self._provider = provider
        self._has_begun = False
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ProviderEvent:
        if self._is_over:
            raise StopAsyncIteration
        try:
            async for frame in self._frames:
                if (event := self._event(frame)) is not None:
                    return event
        except AIError as error:
            self._is_over = True
            return _end_of(error, self._provider)
        raise StopAsyncIteration

    def _event(self, frame: Frame) -> ProviderEvent | None:
        if frame.type == DONE:
            self._is_over = True
            return Finish("stop")
        if frame.type != PIECE or not frame.data:
            return None
        head = b"" if self._has_begun else wave_head(int(number(frame.fields, "rate") or 0))
        self._has_begun = True
        return MediaDelta(modality="audio", data=head + frame.data)


def _end_of(error: AIError, provider: str) -> Finish | ErrorEvent:
    if error.code == ErrorCode.ABORTED:
        return Finish("abort")
    error.provider = error.provider or provider
    return ErrorEvent(error)


async def _transcription(frames: JobFrames, report: ReportSegment | None) -> Response:
    """Read the segments of a job to its end."""
    segments: list[JsonValue] = []
    texts: list[str] = []
    end: JsonObject = {}
    total = 0.0
    async for frame in frames:
        match frame.type:
            case type if type == PROGRESS:
                total = (number(frame.fields, "total") or 0) / 1000
            case type if type == PIECE:
                start = number(frame.fields, "start") or 0.0
                stop, text = number(frame.fields, "end") or start, string(frame.fields, "text")
                segments.append({"start": start, "end": stop, "text": text or ""})
                texts.append((text or "").strip())
                if report is not None:
                    await report(Segment(start, stop, text or "", total_s=total or None))
            case type if type == DONE:
                end = present(
                    {
                        "language": string(frame.fields, "language"),
                        "duration_s": number(frame.fields, "duration_s"),
                    }
                )
    metadata: JsonObject = {**end, "segments": segments}
    text = " ".join(filter(None, texts))
    return Response(content=(TextContent(text),), finish_reason="stop", metadata=metadata)


def _checked_body(request: Request, what: str, known: frozenset[str]) -> JsonObject:
    """Return the options of the request's body.

    Raises:
        AIError: UNSUPPORTED_FEATURE for one that no engine here knows.
    """
    body = dict(request.options.extra_body or {})
    if unknown := sorted(body.keys() - known):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"`{unknown[0][:40]}` is no option for {what} with the built-in engine.",
            hint=f"It takes {', '.join(sorted(known - {'response_format'}))}.",
        )
    return present(body)
