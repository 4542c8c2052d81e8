"""Speech by `/audio/speech`, and transcription by `/audio/transcriptions`."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import as_object, number, present, string
from ollm_tui.protocol.blocks import TextContent, content_to_text
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.body.unsupported import OnLeftOut, check_input
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.answer import sound_type
from ollm_tui.providers.media.encoding import sound_of
from ollm_tui.providers.media.multipart import FormFile, multipart
from ollm_tui.providers.media.refusals import own_words
from ollm_tui.providers.openai_compatible.operations import offered
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import MAX_REPLY_BYTES, Transport
from ollm_tui.tasks import cancelled_by

MAX_SPEECH_BYTES: Final = 256 * 1024 * 1024
_MIN_BYTES: Final = 8
"""Bytes that are not all letters by chance."""
_SUFFIXES: Final[Mapping[str, str]] = {
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}


class SpeechDecoder(AnswerDecoder):
    """Passes the bytes of sound on; text in their place is an error."""

    _what = "speech"
    _can = "speaks"
    _size = 0

    @property
    def activity(self) -> int:
        """The number of bytes that have arrived."""
        return self._size

    def _feed(self, chunk: bytes) -> None:
        if self._size == 0 and (chunk.lstrip()[:1] in (b"{", b"<", b"[") or is_text(chunk)):
            self._builder.fail_without_retry(self._no_sound(chunk))
            return
        self._size += len(chunk)
        if self._size > MAX_SPEECH_BYTES:
            raise LimitPassed(f"{self._what} of more than {MAX_SPEECH_BYTES // 2**20} MB")
        self._builder.add_media("audio", chunk)

    def _finish(self) -> None:
        if self._size == 0:
            self._builder.fail(self._no_sound(b""))
        else:
            self._builder.finish("stop")

    def _no_sound(self, start: bytes) -> AIError:
        reply = _parsed(start)
        if is_error(reply):
            return own_words(reply, self._endpoint, self._what)
        return self._endpoint.error(
            ErrorCode.ENGINE_ERROR,
            f"{self._endpoint.label} sent no sound.",
            f"Check that the model {self._can}, and the server's log.",
        )


def is_text(start: bytes) -> bool:
    """Whether the first bytes of an answer are words, such as those of an error page."""
    return (
        len(start) >= _MIN_BYTES
        and sound_type(start) is None
        and start.isascii()
        and (start.decode("ascii").replace("\n", "").replace("\r", "").isprintable())
    )


def _parsed(start: bytes) -> JsonObject:
    try:
        return as_object(json.loads(start))
    except (ValueError, RecursionError):
        return {}


def speak(transport: Transport, request: Request, *, voice: str | None = None) -> ProviderStream:
    """Stream the sound of the request's text; `voice` is used if the request names none.

    Raises:
        AIError: UNSUPPORTED_FEATURE for fields that have no place in it, BAD_REQUEST for no text.
    """
    check_input(request, "speech", "audio")
    text = text_of(request, "Speech")
    body: JsonObject = {"model": request.model, "input": text}
    body |= present({"voice": voice})
    plan = RequestPlan(
        path="/audio/speech",
        body=partial(_speech_body, body | dict(request.options.extra_body or {})),
        decoder=partial(SpeechDecoder, transport.endpoint),
        adapt=partial(explain_unknown_path, transport, "speech"),
    )
    return answer_stream(transport, plan, request.signal)


def _speech_body(body: JsonObject, _on_left_out: OnLeftOut) -> JsonObject:
    return body


def explain_unknown_path(
    transport: Transport, what: str, _body: JsonObject, error: AIError, _on_left_out: OnLeftOut
) -> None:
    """Raise what an unknown path means; there is no other form of the request."""
    with offered(transport.endpoint, what):
        raise error


def text_of(request: Request, what: str) -> str:
    """Return the request's text.

    Raises:
        AIError: BAD_REQUEST if there is none.
    """
    text = content_to_text(request.input or "")
    if not text.strip():
        raise AIError(ErrorCode.BAD_REQUEST, f"{what} takes an input of some text.")
    return text


async def transcribe(transport: Transport, request: Request) -> Response:
    """Return the text of the request's only sound, with what else the server found as metadata.

    The time limit is that of a first answer.

    Raises:
        AIError: any failure; ABORTED by the request's signal.
    """
    check_input(request, "transcription", "text", {"temperature"})
    sound = sound_of(request)
    fields = _fields(request)
    content, content_type = form(fields, sound)
    with cancelled_by(request.signal):
        with offered(transport.endpoint, "transcription"):
            reply = await transport.post(
                "/audio/transcriptions",
                content,
                content_type,
                within_s=transport.spec.first_byte_timeout_s,
                max_bytes=MAX_REPLY_BYTES,
            )
        return _transcription(reply, transport)
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")


def _fields(request: Request) -> dict[str, str]:
    fields: dict[str, JsonValue] = {"model": request.model, "response_format": "json"}
    fields |= present({"temperature": request.options.temperature})
    fields |= dict(request.options.extra_body or {})
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in fields.items()
    }


def form(fields: Mapping[str, str], sound: bytes) -> tuple[bytes, str]:
    """Return the body of a multipart form with a sound, and its content type."""
    kind = sound_type(sound) or _container(sound) or "audio/wav"
    name = f"audio.{_SUFFIXES.get(kind, 'wav')}"
    return multipart(fields, [FormFile("file", name, kind, sound)])


def _container(sound: bytes) -> str | None:
    if sound[4:8] == b"ftyp":
        return "audio/mp4"
    return "audio/webm" if sound[:4] == b"\x1aE\xdf\xa3" else None


def _no_transcription(endpoint: Endpoint) -> AIError:
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} sent no transcription.",
        "Check that the model transcribes, and the server's log.",
    )


def _transcription(reply: JsonValue, transport: Transport) -> Response:
    entry, endpoint = as_object(reply), transport.endpoint
    text = entry.get("text")
    if not isinstance(text, str):
        raise stream_error(entry, endpoint) if is_error(entry) else _no_transcription(endpoint)
    segments = entry.get("segments")
    metadata = {
        "language": string(entry, "language"),
        "duration_s": number(entry, "duration"),
        "segments": segments if isinstance(segments, list) else None,
    }
    return Response(content=(TextContent(text),), finish_reason="stop", metadata=present(metadata))
