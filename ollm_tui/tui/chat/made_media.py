"""Sound, videos and documents in the chat: what they are, since a terminal plays none of them."""

from collections.abc import Mapping
from typing import Final

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.images import image_data
from ollm_tui.decode.sounds import read_sound_header, waveform
from ollm_tui.decode.videos import VideoHeader, read_video_header
from ollm_tui.frontend.figures import seconds
from ollm_tui.protocol.blocks import AudioContent, DocumentContent, VideoContent
from ollm_tui.protocol.chat_events import MediaDelta

SAVE_HINTS: Final[Mapping[str, str]] = {
    "video": "/open plays it, /save writes it to a file",
    "audio": "/open plays it, /save writes it to a file",
}
"""By modality, what can be done with what a model made."""
_KINDS: Final = {"audio": "Sound", "video": "Video", "document": "PDF"}
_COLUMNS: Final = 48
_LEVELS: Final = " ▁▂▃▄▅▆▇█"


def media_words(block: AudioContent | VideoContent | DocumentContent) -> str:
    """Return what it is, as `Video: clip.mp4, 2.0 s, 64 x 48, video/mp4, 1.2 MB`.

    A sound whose samples can be read has a second line with its waveform.
    """
    media = image_data(block.data, block.url)
    data = media.whole() if media is not None else b""
    header = read_video_header(data) if isinstance(block, VideoContent) else None
    length = None if isinstance(block, DocumentContent) else block.duration_s
    if header is not None:
        length = length or header.duration_s
    elif length is None and isinstance(block, AudioContent):
        sound = read_sound_header(data)
        length = sound.duration_s if sound is not None else None
    details = (
        clean_name(block.name) if block.name else None,
        seconds(length) if length else None,
        _pixels(header),
        block.mime_type,
        size_text(len(data)) if data else None,
        block.url if media is None else None,
    )
    kind = _KINDS[block.type]
    words = ", ".join(clean_line(one) for one in details if one)
    line = f"{kind}: {words}" if words else kind
    wave = _drawn(data) if isinstance(block, AudioContent) else ""
    return f"{line}\n{wave}" if wave else line


def whole_media(event: MediaDelta) -> AudioContent | VideoContent | None:
    """Return a whole video or sound of an event as content; None for anything else."""
    if event.modality == "video" and (header := read_video_header(event.data)) is not None:
        return VideoContent(
            data=event.data, mime_type=header.mime_type, duration_s=header.duration_s
        )
    if event.modality == "audio" and event.data:
        sound = read_sound_header(event.data)
        return AudioContent(data=event.data, mime_type=sound.mime_type if sound else None)
    return None


def _drawn(data: bytes) -> str:
    """Return the waveform of a sound as one line; the loudest part is a full block."""
    heights = waveform(data, _COLUMNS)
    loudest = max(heights, default=0.0)
    if not loudest:
        return ""
    return "".join(_LEVELS[round(height / loudest * (len(_LEVELS) - 1))] for height in heights)


def _pixels(header: VideoHeader | None) -> str | None:
    if header is None or header.width is None or header.height is None:
        return None
    return f"{header.width} x {header.height}"
