"""Content blocks: the tagged union that messages and answers consist of.

A block of a type this version does not know is kept, shown and saved as `UnknownContent`.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.json_types import JsonObject

MediaData: TypeAlias = bytes | str
"""Raw bytes, or base64 text as it was received."""


@dataclass(frozen=True, slots=True)
class TextContent:
    """Text by the user or a model."""

    text: str
    type: Literal["text"] = field(default="text", init=False)


@dataclass(frozen=True, slots=True)
class ThinkingContent:
    """Thinking, which is shown apart from the answer."""

    text: str
    signature: str | None = None
    """A provider's signature; it is sent back to that provider unchanged."""
    signer: str | None = None
    """Who signed it, as `provider://model`; only the signer can read it."""
    sealed: bool = False
    """Whether the signature contains the thinking itself, so that there is no text."""
    type: Literal["thinking"] = field(default="thinking", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """An image, inline or by reference."""

    data: MediaData | None = None
    url: str | None = None
    mime_type: str | None = None
    width: int | None = None
    height: int | None = None
    name: str | None = None
    """Name of the file that it is from."""
    type: Literal["image"] = field(default="image", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioContent:
    """Audio, inline or by reference."""

    data: MediaData | None = None
    url: str | None = None
    mime_type: str | None = None
    duration_s: float | None = None
    name: str | None = None
    """Name of the file that it is from."""
    type: Literal["audio"] = field(default="audio", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoContent:
    """A video, inline or by reference."""

    data: MediaData | None = None
    url: str | None = None
    mime_type: str | None = None
    duration_s: float | None = None
    name: str | None = None
    """Name of the file that it is from."""
    type: Literal["video"] = field(default="video", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContent:
    """A document that a model reads with its layout and pictures: a PDF file."""

    data: MediaData | None = None
    url: str | None = None
    mime_type: str | None = None
    name: str | None = None
    """Name of the file that it is from."""
    type: Literal["document"] = field(default="document", init=False)


@dataclass(frozen=True, slots=True)
class EmbeddingContent:
    """The embedding of some content."""

    vector: tuple[float, ...]
    type: Literal["embedding"] = field(default="embedding", init=False)

    @property
    def dimensions(self) -> int:
        """Length of the vector."""
        return len(self.vector)


@dataclass(frozen=True, slots=True)
class UnknownContent:
    """A block of a type this version does not know."""

    type: str
    data: JsonObject
    """The whole block as it was read, without its `type` key."""


Block: TypeAlias = (
    TextContent
    | ThinkingContent
    | ImageContent
    | AudioContent
    | VideoContent
    | DocumentContent
    | EmbeddingContent
    | UnknownContent
)
Content: TypeAlias = str | Sequence[Block]
MediaContent: TypeAlias = ImageContent | AudioContent | VideoContent | DocumentContent
"""What is attached to a message, or made by a model, rather than written."""
MEDIA: Final = (ImageContent, AudioContent, VideoContent, DocumentContent)
"""The same, for `isinstance`."""


def normalize_content(content: Content) -> tuple[Block, ...]:
    """Return content as blocks: a string is one text block, an empty one none."""
    if isinstance(content, str):
        return (TextContent(content),) if content else ()
    return tuple(content)


def content_to_text(content: Content) -> str:
    """Join the text and thinking of content; other blocks are left out."""
    if isinstance(content, str):
        return content
    return "".join(b.text for b in content if isinstance(b, TextContent | ThinkingContent))


def text(value: str) -> TextContent:
    """Return a text block."""
    return TextContent(value)


def image(url: str) -> ImageContent:
    """Return an image block that refers to `url`."""
    return ImageContent(url=url)


def audio(data: bytes, mime_type: str | None = None) -> AudioContent:
    """Return an audio block of raw bytes."""
    return AudioContent(data=data, mime_type=mime_type)
