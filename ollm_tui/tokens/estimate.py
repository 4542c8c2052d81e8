"""The pieces of a request that a model reads, and estimates of their tokens."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ollm_tui.decode.json_guard import dump_or_reason
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    EmbeddingContent,
    ImageContent,
    MediaContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema

CHARACTERS_PER_TOKEN = 4
PICTURE_PATCH = 32
"""Side of the square of pixels that models see as one token."""
PICTURE_MOST = 1536
PICTURE_UNKNOWN = 1024
"""Tokens of an image of unknown size."""
AUDIO_TOKENS_PER_S = 32
VIDEO_TOKENS_PER_S = 300
SECONDS_UNKNOWN = 30.0
DOCUMENT_UNKNOWN = 4096
"""Tokens of a document, whose pages are not counted here."""

CountText: TypeAlias = Callable[[str], int]
Piece: TypeAlias = str | Block | ToolCall | ToolSchema
"""A part of a request that stays the same object while the conversation grows."""


def fallback_estimate(text: str) -> int:
    """Return a quarter of the text's length, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def fixed_pieces(request: Request) -> Iterator[Piece]:
    """Return what is always sent: the system prompt and the offered tools."""
    if request.system_prompt:
        yield request.system_prompt
    yield from request.offered_tools


def message_pieces(message: Message) -> list[Piece]:
    """Return the pieces of one message, without its thinking."""
    blocks = [block for block in message.content if not isinstance(block, ThinkingContent)]
    return [*blocks, *message.tool_calls]


def piece_tokens(piece: Piece, count_text: CountText) -> int:
    """Count one piece; what no provider can send counts nothing."""
    match piece:
        case str():
            return count_text(piece)
        case TextContent() | ThinkingContent():
            return count_text(piece.text)
        case ToolCall():
            return count_text(piece.name) + count_text(dump_or_reason(piece.args or {}))
        case ToolSchema():
            about, parameters = piece.description or "", piece.parameters or {}
            schema = dump_or_reason(
                {"name": piece.name, "description": about, "parameters": parameters}
            )
            return count_text(schema)
        case EmbeddingContent() | UnknownContent():
            return 0
        case _:
            return attachment_tokens(piece)


def attachment_tokens(block: MediaContent) -> int:
    """Return the price of an image by its size, or of audio and video by their duration."""
    match block:
        case ImageContent():
            return _picture_tokens(block)
        case DocumentContent():
            return DOCUMENT_UNKNOWN
        case AudioContent():
            tokens_per_s = AUDIO_TOKENS_PER_S
        case VideoContent():
            tokens_per_s = VIDEO_TOKENS_PER_S
    duration_s = SECONDS_UNKNOWN if block.duration_s is None else block.duration_s
    return max(1, round(duration_s * tokens_per_s))


def _picture_tokens(picture: ImageContent) -> int:
    if not picture.width or not picture.height:
        return PICTURE_UNKNOWN
    across, down = (-(-side // PICTURE_PATCH) for side in (picture.width, picture.height))
    return min(across * down, PICTURE_MOST)
