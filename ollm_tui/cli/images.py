"""The pictures that go with a prompt on the command line."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.attachments.attachment import AttachedImage, attach_image
from ollm_tui.attachments.paths import as_path
from ollm_tui.attachments.reading import MOST_TOGETHER_BYTES
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.protocol.blocks import Content, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.figures import picture_figures

MOST_IMAGES: Final = 20


async def with_images(prompt: str, images: Sequence[str], output: Output) -> Content:
    """Put pictures below a prompt, and say on standard error what they are.

    Raises:
        UsageError: one of them cannot be sent; nothing is sent then.
    """
    if not images:
        return prompt
    if len(images) > MOST_IMAGES:
        raise UsageError(f"{len(images)} pictures are too many; {MOST_IMAGES} is the limit.")
    pictures = [await _picture(name) for name in images]
    if sum(picture.size for picture in pictures) > MOST_TOGETHER_BYTES:
        most = MOST_TOGETHER_BYTES // 1_000_000
        raise UsageError(f"The pictures have more than {most} MB together.")
    if output.is_watched:
        for picture in pictures:
            output.note(f"{picture.name} · {picture_figures(picture.content)}")
    return [TextContent(prompt), *(picture.content for picture in pictures)]


async def _picture(name: str) -> AttachedImage:
    path = as_path(name)
    if path is None:
        raise UsageError("--image needs the path of a file.")
    try:
        return await attach_image(path)
    except AIError as error:
        raise UsageError(error.message, error.hint) from None
