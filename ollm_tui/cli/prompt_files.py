"""Files that go with a prompt on the command line: pictures and others, and a JSON Schema."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from ollm_tui.attachments.attachment import (
    MAX_TOGETHER_BYTES,
    AttachedText,
    Attachment,
    attach,
    attach_image,
)
from ollm_tui.attachments.paths import as_path
from ollm_tui.chat.answer_schema import read_schema
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.frontend.figures import media_figures
from ollm_tui.protocol.blocks import Content, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject

MAX_FILES: Final = 20


async def with_files(
    prompt: str, images: Sequence[str], files: Sequence[str], output: Output
) -> Content:
    """Put pictures and other files below a prompt, and describe them on standard error.

    Raises:
        UsageError: one of them cannot be sent; nothing is sent then.
    """
    count = len(images) + len(files)
    if count > MAX_FILES:
        what = "files" if files else "pictures"
        raise UsageError(f"{count} {what} are too many; {MAX_FILES} is the limit.")
    attached = [await _attached(name, "--image", attach_image) for name in images]
    attached += [await _attached(name, "--attach", attach) for name in files]
    media = [one for one in attached if not isinstance(one, AttachedText)]
    if sum(one.size for one in media) > MAX_TOGETHER_BYTES:
        what, most = "files" if files else "pictures", MAX_TOGETHER_BYTES // 1_000_000
        raise UsageError(f"The {what} have more than {most} MB together.")
    if output.is_watched:
        for one in media:
            output.note(f"{one.name} · {media_figures(one.content)}")
    texts = [one.block for one in attached if isinstance(one, AttachedText)]
    return [TextContent("\n\n".join([prompt, *texts])), *(one.content for one in media)]


async def _attached(
    name: str, option: str, read: Callable[[Path], Awaitable[Attachment]]
) -> Attachment:
    path = as_path(name)
    if path is None:
        raise UsageError(f"{option} needs the path of a file.")
    try:
        return await read(path)
    except AIError as error:
        raise UsageError(error.message, error.hint) from None


async def schema_from(named: str) -> JsonObject:
    """Read the JSON Schema that the answer must match.

    Raises:
        UsageError: it cannot be used.
    """
    try:
        return await read_schema(named)
    except AIError as error:
        raise UsageError(error.message, error.hint) from None
