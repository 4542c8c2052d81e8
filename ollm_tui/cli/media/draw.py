"""`ollm draw`: pictures of a text, each in a file."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments, piped_text
from ollm_tui.cli.media.new_file import NewFile
from ollm_tui.cli.media.task import (
    answered_by,
    checked_number,
    output_path,
    run_task,
    typed_text,
)
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

_SIZE: Final = re.compile(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
_MOST: Final = 20
_LARGEST_SEED: Final = 2**63 - 1 - _MOST
_SUFFIXES: Final = {"image/png": (".png",), "image/jpeg": (".jpg", ".jpeg")}


def run_draw(arguments: Arguments, output: Output) -> int:
    """Write the pictures of a text to files."""
    options, path = arguments.media, output_path(arguments)
    prompt = typed_text(options.texts, piped_text, 'ollm draw "a red cat" -o cat.png')
    checked_number("--count", options.count, 1, _MOST)
    checked_number("--seed", options.seed, -_LARGEST_SEED, _LARGEST_SEED)
    if options.size is not None and not _SIZE.fullmatch(options.size):
        raise UsageError("--size takes width and height in pixels, such as 512x512.")
    with ExitStack() as stack:
        files = [
            stack.enter_context(NewFile(name, replaces=options.force))
            for name in _names(path, options.count)
        ]
        work = partial(_draw, arguments, output, prompt, files)
        return run_task("picture", arguments, output, work)


def _names(path: Path, count: int) -> list[Path]:
    """Return the names of the files: `cat.png`, or `cat-1.png` and `cat-2.png`."""
    if count == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(1, count + 1)]


async def _draw(
    arguments: Arguments,
    output: Output,
    prompt: str,
    files: Sequence[NewFile],
    _runtime: Runtime,
    model: ResolvedModel,
) -> int:
    for number, file in enumerate(files):
        if output.is_watched:
            output.draw(f"Picture {number + 1} of {len(files)}")
        try:
            picture = await _picture(arguments, prompt, number, model)
        finally:
            if output.is_watched:
                output.draw("")
        assert isinstance(picture.data, bytes)
        await to_thread.run_sync(file.append, picture.data)
        await to_thread.run_sync(file.publish)
        _report(arguments, output, file, picture, model)
    return OK


async def _picture(
    arguments: Arguments, prompt: str, number: int, model: ResolvedModel
) -> ImageContent:
    options = arguments.media
    request = Request(
        model=model.ref.model,
        input=prompt,
        output="image",
        options=GenerationOptions(
            seed=None if options.seed is None else options.seed + number,
            extra_body=None if options.size is None else {"size": options.size},
        ),
        stream=False,
    )
    response = await model.provider.invoke(request)
    assert isinstance(response, Response)
    for block in response.content:
        if isinstance(block, ImageContent) and isinstance(block.data, bytes):
            return block
    raise AIError(ErrorCode.ENGINE_ERROR, "The server sent no picture.")


def _report(
    arguments: Arguments,
    output: Output,
    file: NewFile,
    picture: ImageContent,
    model: ResolvedModel,
) -> None:
    kind, suffix = picture.mime_type or "", file.path.suffix.lower()
    if suffix in (".png", ".jpg", ".jpeg") and suffix not in _SUFFIXES.get(kind, ()):
        output.note(f"The server sent {kind}: the name of the file says something else.")
    if arguments.as_json:
        line: JsonObject = {"type": "file", "path": str(file.path), "bytes": file.size}
        line |= {"mime_type": kind, "width": picture.width, "height": picture.height}
        output.json(line | answered_by(model))
    else:
        output.note(f"Saved {file.path} ({size_text(file.size)}).")
