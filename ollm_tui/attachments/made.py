"""Pictures, videos and sound that a model made, written to files that did not exist before."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from anyio import to_thread

from ollm_tui.config.new_file import NameTaken, NewFile
from ollm_tui.config.paths import expanded, private_folder
from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.images import image_data, read_image_header
from ollm_tui.decode.videos import read_video_header
from ollm_tui.protocol.blocks import (
    MEDIA,
    AudioContent,
    DocumentContent,
    ImageContent,
    MediaContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message

_SUFFIXES: Final = {"jpeg": (".jpg", ".jpeg"), "mp4": (".mp4", ".m4v"), "mov": (".mov", ".qt")}
"""By kind, how names may end, if not by the kind itself."""
_SOUND_SUFFIXES: Final = {
    "audio/wav": (".wav",),
    "audio/mpeg": (".mp3",),
    "audio/ogg": (".ogg", ".opus"),
    "audio/flac": (".flac",),
    "audio/aac": (".aac",),
}
_PICTURE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"})
_VIDEO_SUFFIXES: Final = frozenset({".mp4", ".m4v", ".mov", ".qt", ".webm", ".avi"})
_COMMANDS: Final = {
    "image": "/image save cat",
    "video": "/video save cat",
    "audio": "/music save song",
    "document": "/save paper",
}
_STEMS: Final = {"image": "picture", "video": "video", "audio": "music", "document": "document"}
_OPENED_S: Final = 86_400.0
"""How long a file that was written to be opened stays."""
_MAX_NAMES: Final = 1000


def kind_of_name(name: str) -> Literal["image", "video", "audio"] | None:
    """Return what a file of this name holds: `image`, `video` or `audio`; None for another one."""
    suffix = Path(name).suffix.lower()
    if suffix in _PICTURE_SUFFIXES:
        return "image"
    if suffix in _VIDEO_SUFFIXES:
        return "video"
    return "audio" if any(suffix in ends for ends in _SOUND_SUFFIXES.values()) else None


def newest_media(messages: Sequence[Message]) -> MediaContent | None:
    """Return the newest picture, sound, video or document of a chat, made or attached."""
    blocks = (block for message in reversed(messages) for block in reversed(message.content))
    return next((one for one in blocks if isinstance(one, MEDIA) and one.data is not None), None)


async def open_newest(
    messages: Sequence[Message], folder: Path, hand_on: Callable[[Path], Awaitable[str | None]]
) -> str | None:
    """Hand the newest picture, sound, video or document of a chat to another program.

    Return a sentence if that is impossible here.

    Raises:
        AIError: there is none, or it cannot be written for the program.
    """
    newest = newest_media(messages)
    if newest is None:
        raise AIError(ErrorCode.BAD_REQUEST, "This chat has no picture, sound, video or PDF yet.")
    problem = await hand_on(await write_to_open(newest, folder))
    return problem and f"{problem} /save writes what was made to a file."


async def write_to_open(made: MediaContent, folder: Path) -> Path:
    """Write something to a private file for another program, and return its path.

    Files that were written so a day ago are removed.

    Raises:
        AIError: BAD_REQUEST if it is only a link; INTERNAL_ERROR if it cannot be written.
    """
    data, suffixes = await to_thread.run_sync(_bytes_of, made)
    if not suffixes:
        raise AIError(
            ErrorCode.BAD_REQUEST, f"The {_STEMS[made.type]} is a link, which is not followed."
        )
    try:
        return await to_thread.run_sync(_put, data, suffixes[0], folder)
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"{clean_name(str(folder))} cannot be written: {why_unreadable(error)}.",
        ) from error


def _put(data: bytes, suffix: str, folder: Path) -> Path:
    private_folder(folder)
    oldest = time.time() - _OPENED_S
    for old in folder.iterdir():
        with suppress(OSError):
            if old.stat().st_mtime < oldest:
                old.unlink()
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
    write_private(path, data, lasting=False)
    return path


async def save_made(made: MediaContent, name: str) -> Path:
    """Write what was made to a file and return its path; without a name it gets a number.

    Raises:
        AIError: BAD_REQUEST if the name is taken, or is that of another kind of file;
            INTERNAL_ERROR if it cannot be written.
    """
    data, suffixes = await to_thread.run_sync(_bytes_of, made)
    if not suffixes:
        raise AIError(
            ErrorCode.BAD_REQUEST, f"The {_STEMS[made.type]} is a link, which is not followed."
        )
    return await to_thread.run_sync(_written, data, suffixes, name.strip(), made.type)


def _bytes_of(made: MediaContent) -> tuple[bytes, tuple[str, ...]]:
    """Return its bytes, and how names of such files end; none if it has no data of a known kind."""
    media = image_data(made.data, made.url)
    data = media.whole() if media is not None else b""
    if not data:
        return b"", ()
    if isinstance(made, AudioContent):
        return data, _SOUND_SUFFIXES.get(made.mime_type or "", (".wav",))
    if isinstance(made, DocumentContent):
        return data, (".pdf",) if data.startswith(b"%PDF-") else ()
    read = read_image_header if isinstance(made, ImageContent) else read_video_header
    header = read(data)
    return data, () if header is None else _SUFFIXES.get(header.kind, (f".{header.kind}",))


def _written(data: bytes, suffixes: tuple[str, ...], name: str, kind: str) -> Path:
    for path in _names(suffixes, name, kind):
        try:
            with NewFile(path, follows_links=False, shown=clean_name(str(path))) as file:
                file.append(data)
                file.publish()
        except NameTaken as taken:
            if name:
                raise _refusal(path, "exists already", "Choose another name.") from taken
        else:
            return path
    raise AIError(ErrorCode.BAD_REQUEST, f"Name the file: {_COMMANDS[kind]}{suffixes[0]}.")


def _names(suffixes: tuple[str, ...], name: str, kind: str) -> Iterator[Path]:
    if not name:
        yield from (
            Path(f"{_STEMS[kind]}-{number}{suffixes[0]}") for number in range(1, _MAX_NAMES)
        )
        return
    path = expanded(Path(name))
    if path.suffix and path.suffix.lower() not in suffixes:
        form = suffixes[0].removeprefix(".").upper()
        what = {**_STEMS, "audio": "sound"}[kind]
        raise _refusal(
            path, f"is no name for a {form} {what}", f"End it with {suffixes[0]}, or with nothing."
        )
    yield path if path.suffix else path.with_name(path.name + suffixes[0])


def _refusal(path: Path, why: str, hint: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"{clean_name(str(path))} {why}.", hint=hint)
