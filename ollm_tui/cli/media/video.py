"""`ollm video`: a video of a text, in a file."""

from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments, piped_text
from ollm_tui.cli.media.draw import checked_size, read_picture
from ollm_tui.cli.media.task import (
    OutputFile,
    answered_by,
    checked_number,
    output_path,
    run_task,
    typed_text,
)
from ollm_tui.cli.output import OK, Output
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.json_fields import present
from ollm_tui.decode.videos import VIDEO_TYPES, VideoHeader, read_video_header
from ollm_tui.protocol.blocks import Block, ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.media.video import MAX_FRAMES, MAX_SECONDS
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject, JsonValue

_MAX_SEED: Final = 2**63 - 1
_MAX_FPS: Final = 240


def run_video(arguments: Arguments, output: Output) -> int:
    """Write a video of a text to a file."""
    options, path = arguments.media, output_path(arguments)
    prompt = typed_text(options.texts, piped_text, 'ollm video "a cat walks" -o cat.mp4')
    checked_number("--seconds", options.seconds, 1, MAX_SECONDS)
    checked_number("--fps", options.fps, 1, _MAX_FPS)
    checked_number("--frames", options.frames, 1, MAX_FRAMES)
    checked_number("--seed", options.seed, -_MAX_SEED, _MAX_SEED)
    checked_size(options.size)
    picture = None if options.image is None else read_picture(options.image)
    with OutputFile(path, replaces=options.force) as file:
        work = _Video(arguments, output, prompt, picture, file)
        return run_task("video", arguments, output, work.run)


@dataclass(frozen=True, slots=True)
class _Video:
    """The video of one command."""

    arguments: Arguments
    output: Output
    prompt: str
    picture: ImageContent | None
    file: OutputFile

    async def run(self, _runtime: Runtime, model: ResolvedModel) -> int:
        """Write the file."""
        try:
            data, header = await self._made(model)
        finally:
            self._show("")
        await to_thread.run_sync(self.file.append, data)
        await to_thread.run_sync(self.file.publish)
        self._report(header, model)
        return OK

    def _request(self, model: ResolvedModel) -> Request:
        options = self.arguments.media
        content: list[Block] = [TextContent(self.prompt)]
        if self.picture is not None:
            content.append(self.picture)
        body: dict[str, JsonValue] = {
            "size": options.size,
            "seconds": options.seconds,
            "fps": options.fps,
            "num_frames": options.frames,
        }
        return Request(
            model=model.ref.model,
            input=content,
            output="video",
            options=GenerationOptions(seed=options.seed, extra_body=present(body) or None),
        )

    async def _made(self, model: ResolvedModel) -> tuple[bytes, VideoHeader]:
        self._show("Waiting for the video")
        stream = await model.provider.invoke(self._request(model))
        assert not isinstance(stream, Response)
        async with stream as events:
            async for event in events:
                match event:
                    case MediaDelta(step=int() as step, total_steps=total):
                        self._show(f"Video · step {step} of {total}" if total else "Video")
                    case MediaDelta(data=data) if header := read_video_header(data):
                        return data, header
                    case ErrorEvent(error=error):
                        raise error
        raise AIError(ErrorCode.ENGINE_ERROR, "The server sent no video.")

    def _show(self, text: str) -> None:
        if self.output.is_watched:
            self.output.draw(text)

    def _report(self, header: VideoHeader, model: ResolvedModel) -> None:
        file, output = self.file, self.output
        suffix = file.path.suffix.lower().removeprefix(".")
        if suffix in VIDEO_TYPES and suffix != header.kind:
            output.note(f"The server sent {header.mime_type}: the name says something else.")
        if self.arguments.as_json:
            line: JsonObject = {"type": "file", "path": str(file.path), "bytes": file.size}
            line |= {"mime_type": header.mime_type, "duration_s": header.duration_s}
            line |= {"width": header.width, "height": header.height}
            output.json(line | answered_by(model))
        else:
            length = f", {header.duration_s:.1f} s" if header.duration_s else ""
            output.note(f"Saved {file.path} ({size_text(file.size)}{length}).")
