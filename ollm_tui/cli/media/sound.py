"""`ollm speak`, `ollm music` and `ollm transcribe`: text to sound, and sound to text."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments, piped_text
from ollm_tui.cli.media.arguments import SOUND_FORMATS
from ollm_tui.cli.media.task import (
    OutputFile,
    answered_by,
    checked_number,
    output_path,
    run_task,
    typed_text,
)
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.decode.clean import clean
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.json_fields import present
from ollm_tui.protocol.blocks import AudioContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderStream, SupportsSegments
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, MediaDelta, Segment
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.media.answer import sound_type
from ollm_tui.providers.media.encoding import MAX_SOUND_BYTES
from ollm_tui.providers.media.inputs import MAX_SECONDS, MUSIC_OUTPUT
from ollm_tui.providers.media.wave_file import HEAD, mended
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject, JsonValue

_FORMATS: Final[Mapping[str, str]] = {
    **{f".{name}": name for name in SOUND_FORMATS},
    ".ogg": "opus",
    ".oga": "opus",
}
_TYPES: Final[Mapping[str, str]] = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "flac": "audio/flac",
    "aac": "audio/aac",
}


def run_speak(arguments: Arguments, output: Output) -> int:
    """Write the sound of a text to a file."""
    options, path = arguments.media, output_path(arguments)
    text = typed_text(options.texts, piped_text, 'ollm speak "a text" -o hello.wav')
    checked_number("--speed", options.speed, 0.25, 4)
    suffix = path.suffix.lower()
    if suffix and suffix not in _FORMATS and options.format is None:
        kinds = ", ".join(SOUND_FORMATS)
        raise UsageError(f"{suffix} is no format of sound.", f"--format names one: {kinds}.")
    with OutputFile(path, replaces=options.force) as file:
        work = partial(_speak, arguments, output, text, file)
        return run_task("speech", arguments, output, work)


async def _speak(
    arguments: Arguments,
    output: Output,
    text: str,
    file: OutputFile,
    _runtime: Runtime,
    model: ResolvedModel,
) -> int:
    options = arguments.media
    wanted = options.format or _FORMATS.get(file.path.suffix.lower(), "wav")
    body: dict[str, JsonValue] = {"response_format": wanted}
    body |= present({"voice": options.voice, "speed": options.speed})
    request = Request(
        model=model.ref.model,
        input=text,
        output="audio",
        options=GenerationOptions(extra_body=body),
    )
    kind = await _saved(request, model, file, output)
    if kind not in (None, _TYPES[wanted]):
        output.note(f"The server sent {kind}, not {_TYPES[wanted]}.")
    _report(arguments, output, file, kind, model)
    return OK


def run_music(arguments: Arguments, output: Output) -> int:
    """Write music of a text to a file."""
    options, path = arguments.media, output_path(arguments)
    text = typed_text(options.texts, piped_text, 'ollm music "slow jazz" -o song.wav')
    checked_number("--seconds", options.seconds, 1, MAX_SECONDS)
    with OutputFile(path, replaces=options.force) as file:
        return run_task("music", arguments, output, partial(_music, arguments, output, text, file))


async def _music(
    arguments: Arguments,
    output: Output,
    text: str,
    file: OutputFile,
    _runtime: Runtime,
    model: ResolvedModel,
) -> int:
    seconds: dict[str, JsonValue] = present({"seconds": arguments.media.seconds})
    request = Request(
        model=model.ref.model,
        input=text,
        output=MUSIC_OUTPUT,
        options=GenerationOptions(extra_body=seconds or None),
    )
    kind = await _saved(request, model, file, output)
    wanted = _TYPES.get(_FORMATS.get(file.path.suffix.lower(), ""))
    if kind is not None and wanted not in (None, kind):
        output.note(f"The server sent {kind}: the name of the file says something else.")
    _report(arguments, output, file, kind, model)
    return OK


async def _saved(
    request: Request, model: ResolvedModel, file: OutputFile, output: Output
) -> str | None:
    """Write the sound of a request to a file, and return its media type."""
    stream = await model.provider.invoke(request)
    assert not isinstance(stream, Response)
    start = await _written(stream, file, output)
    for at, part in mended(start, file.size).items():
        await to_thread.run_sync(file.overwrite, at, part)
    await to_thread.run_sync(file.publish)
    return sound_type(start)


def _report(
    arguments: Arguments, output: Output, file: OutputFile, kind: str | None, model: ResolvedModel
) -> None:
    if arguments.as_json:
        line: JsonObject = {"type": "file", "path": str(file.path), "bytes": file.size}
        output.json(line | {"mime_type": kind} | answered_by(model))
    else:
        output.note(f"Saved {file.path} ({size_text(file.size)}).")


async def _written(stream: ProviderStream, file: OutputFile, output: Output) -> bytes:
    """Write a stream to a file, and return its first bytes."""
    start = b""
    try:
        async with stream as events:
            async for event in events:
                match event:
                    case MediaDelta(data=data):
                        start = (start + data[:HEAD])[:HEAD]
                        await to_thread.run_sync(file.append, data)
                        if output.is_watched:
                            output.draw(f"Received {size_text(file.size)}")
                    case ErrorEvent(error=error):
                        if error.code == ErrorCode.STREAM_INCOMPLETE:
                            error.hint = "No file was written; try again."
                        raise error
                    case Finish():
                        return start
    finally:
        if output.is_watched:
            output.draw("")
    raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")


def run_transcribe(arguments: Arguments, output: Output) -> int:
    """Write what is said in a file to standard output."""
    (path,) = arguments.media.files
    try:
        sound = read_bounded(path, MAX_SOUND_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    if not sound:
        raise UsageError(f"{path} is empty.")
    work = partial(_transcribe, arguments, output, sound)
    return run_task("transcription", arguments, output, work)


async def _transcribe(
    arguments: Arguments, output: Output, sound: bytes, _runtime: Runtime, model: ResolvedModel
) -> int:
    body: dict[str, JsonValue] = present({"language": arguments.media.language})
    request = Request(
        model=model.ref.model,
        input=[AudioContent(data=sound)],
        output="text",
        options=GenerationOptions(extra_body=body),
        stream=False,
    )
    try:
        response = await _heard(request, model, output)
    finally:
        if output.is_watched:
            output.draw("")
    if arguments.as_json:
        line: JsonObject = {"type": "transcription", "text": response.text}
        output.json(line | dict(response.metadata) | answered_by(model), is_answer=True)
    else:
        output.answer(f"{clean(response.text.strip())}\n")
    return OK


async def _heard(request: Request, model: ResolvedModel, output: Output) -> Response:
    """Return a transcription; a terminal shows how far it is, if its provider tells."""

    async def show(segment: Segment) -> None:
        if output.is_watched and segment.total_s:
            output.draw(f"Heard {segment.end_s:.0f} of {segment.total_s:.0f} s")

    if isinstance(model.provider, SupportsSegments):
        return await model.provider.transcribe_segments(request, show)
    response = await model.provider.invoke(request)
    assert isinstance(response, Response)
    return response
