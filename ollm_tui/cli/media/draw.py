"""`ollm draw`: pictures of a text, each in a file."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments, piped_text
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
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.images import read_image_header
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.media.drawing import MAX_UPLOAD_BYTES
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

_SIZE: Final = lazy_re(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
_MAX_PICTURES: Final = 20
_MAX_SEED: Final = 2**63 - 1 - _MAX_PICTURES
_SUFFIXES: Final = {
    "image/png": (".png", ""),
    "image/jpeg": (".jpg", ".jpeg", ""),
    "image/webp": (".webp", ""),
    "image/gif": (".gif", ""),
}
"""By kind of picture, how its name may end."""


def run_draw(arguments: Arguments, output: Output) -> int:
    """Write the pictures of a text to files."""
    options, path = arguments.media, output_path(arguments)
    prompt = typed_text(options.texts, piped_text, 'ollm draw "a red cat" -o cat.png')
    checked_number("--count", options.count, 1, _MAX_PICTURES)
    checked_number("--seed", options.seed, -_MAX_SEED, _MAX_SEED)
    checked_size(options.size)
    pictures = _pictures(arguments)
    mask = None if options.mask is None else read_picture(options.mask)
    with ExitStack() as stack:
        files = [
            stack.enter_context(OutputFile(name, replaces=options.force))
            for name in _names(path, options.count)
        ]
        drawing = _Drawing(arguments, output, prompt, pictures, mask, files)
        return run_task("picture", arguments, output, drawing.run)


def _names(path: Path, count: int) -> list[Path]:
    """Return the names of the files: `cat.png`, or `cat-1.png` and `cat-2.png`."""
    if count == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(1, count + 1)]


def _pictures(arguments: Arguments) -> list[ImageContent]:
    """Read the pictures to edit.

    Raises:
        UsageError: one cannot be read, or there is a mask but no picture.
    """
    if arguments.media.mask is not None and not arguments.media.edit:
        raise UsageError("--mask takes a picture to edit: --edit FILE.")
    return [read_picture(path) for path in arguments.media.edit]


def checked_size(size: str | None) -> None:
    """Raise a `UsageError` for a size that is not as 512x512."""
    if size is not None and not _SIZE.fullmatch(size):
        raise UsageError("--size takes width and height in pixels, such as 512x512.")


def read_picture(path: Path) -> ImageContent:
    """Return the picture in a file.

    Raises:
        UsageError: there is none that can be read.
    """
    try:
        data = read_bounded(path, MAX_UPLOAD_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}.") from error
    header = read_image_header(data)
    if header is None:
        raise UsageError(f"{path} is no picture that can be read.", "Use a PNG or JPEG file.")
    return ImageContent(data=data, mime_type=f"image/{header.kind}", name=path.name)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The pictures of one command, each by a request of its own."""

    arguments: Arguments
    output: Output
    prompt: str
    pictures: Sequence[ImageContent]
    mask: ImageContent | None
    files: Sequence[OutputFile]

    async def run(self, _runtime: Runtime, model: ResolvedModel) -> int:
        """Write one file after another."""
        for number, file in enumerate(self.files):
            picture = await self._drawn(number, model)
            assert isinstance(picture.data, bytes)
            await to_thread.run_sync(file.append, picture.data)
            await to_thread.run_sync(file.publish)
            _report(self.arguments, self.output, file, picture, model)
        return OK

    def _request(self, number: int, model: ResolvedModel) -> Request:
        options = self.arguments.media
        return Request(
            model=model.ref.model,
            input=[TextContent(self.prompt), *self.pictures],
            output="image",
            mask=self.mask,
            options=GenerationOptions(
                seed=None if options.seed is None else options.seed + number,
                extra_body=None if options.size is None else {"size": options.size},
            ),
        )

    async def _drawn(self, number: int, model: ResolvedModel) -> ImageContent:
        self._show(number)
        try:
            stream = await model.provider.invoke(self._request(number, model))
            assert not isinstance(stream, Response)
            async with stream as events:
                async for event in events:
                    match event:
                        case MediaDelta(step=int() as step, total_steps=total):
                            self._show(number, f" · step {step} of {total}" if total else "")
                        case MediaDelta(data=data) if header := read_image_header(data):
                            return ImageContent(
                                data=data,
                                mime_type=f"image/{header.kind}",
                                width=header.width,
                                height=header.height,
                            )
                        case ErrorEvent(error=error):
                            raise error
        finally:
            if self.output.is_watched:
                self.output.draw("")
        raise AIError(ErrorCode.ENGINE_ERROR, "The server sent no picture.")

    def _show(self, number: int, progress: str = "") -> None:
        if self.output.is_watched:
            self.output.draw(f"Picture {number + 1} of {len(self.files)}{progress}")


def _report(
    arguments: Arguments,
    output: Output,
    file: OutputFile,
    picture: ImageContent,
    model: ResolvedModel,
) -> None:
    kind, suffix = picture.mime_type or "", file.path.suffix.lower()
    if suffix not in _SUFFIXES.get(kind, ("",)):
        output.note(f"The server sent {kind}: the name of the file says something else.")
    if arguments.as_json:
        line: JsonObject = {"type": "file", "path": str(file.path), "bytes": file.size}
        line |= {"mime_type": kind, "width": picture.width, "height": picture.height}
        output.json(line | answered_by(model))
    else:
        output.note(f"Saved {file.path} ({size_text(file.size)}).")
