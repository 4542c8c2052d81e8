"""Results of a server's tools as what the model reads and sees.

A picture that a model cannot take is named, and so is everything else that is no text.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import mcp_types as wire

from ollm_tui.decode.counted import counted
from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent
from ollm_tui.protocol.tools import ToolOutput

MAX_MEDIA: Final = 8
"""Pictures and sounds of one result; each takes room in the context window."""
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_EMPTY: Final = "The tool gave no output."


def output_of(result: wire.CallToolResult) -> ToolOutput:
    """Return a result as text, pictures and sounds; what is none of these is named."""
    media = [block for one in result.content if (block := _medium(one)) is not None]
    texts = list(_texts(result.content))
    if not texts and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    if len(media) > MAX_MEDIA:
        texts.append(f"[{counted(len(media) - MAX_MEDIA, 'picture')} left out]")
    return ToolOutput(
        "\n".join(texts) or _EMPTY,
        is_error=bool(result.is_error),
        media=tuple(media[:MAX_MEDIA]),
    )


def _medium(block: wire.ContentBlock) -> Block | None:
    match block:
        case wire.ImageContent() if block.mime_type in PICTURES:
            return ImageContent(data=block.data, mime_type=block.mime_type)
        case wire.AudioContent():
            return AudioContent(data=block.data, mime_type=block.mime_type)
        case _:
            return None


def _texts(blocks: Sequence[wire.ContentBlock]) -> Iterator[str]:
    for block in blocks:
        match block:
            case wire.TextContent():
                yield block.text
            case wire.ImageContent() if block.mime_type not in PICTURES:
                # What it holds is text, such as SVG, or nothing that models take.
                yield f"[image: {block.mime_type}, which cannot be shown]"
            case wire.ImageContent() | wire.AudioContent():
                yield f"[{block.type}: {block.mime_type}]"
            case wire.ResourceLink():
                yield f"[resource: {block.name}, {block.uri}]"
            case wire.EmbeddedResource(resource=wire.TextResourceContents() as resource):
                yield resource.text
            case wire.EmbeddedResource(resource=wire.BlobResourceContents() as resource):
                yield f"[resource: {resource.uri}, {resource.mime_type or 'of unknown type'}]"
