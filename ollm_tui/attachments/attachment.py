"""Attached files: pictures, sound, videos and PDF files for models, or text for the prompt.

Only regular files are read, up to a limit. A pipe, a device or a file of the kernel is refused
without being opened, since opening one may wait or do something. Links are followed, since a
user's folders may be links; what is opened is their end, and never a link that took its place.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from ollm_tui.attachments.media import MAX_MEDIA_BYTES, AttachedMedia, media_again, media_of
from ollm_tui.attachments.paths import readings
from ollm_tui.config.regular_file import TooLongError, read_bounded, real_path
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.images import ImageHeader, image_data, read_image_header
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import ImageContent, MediaContent
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_TOGETHER_BYTES: Final = 50_000_000
"""Limit for all files of one message together; most servers have a lower one."""
_KERNEL_FOLDERS: Final = frozenset({"proc", "sys", "dev"})
_MAX_SHOWN_LENGTH: Final = 200
_READING_S: Final = 60.0
"""A picture on a slow network disk may take a while; the chat can be used meanwhile."""
_REASONS: Final[Mapping[int, str]] = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "has a part that is not a folder",
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: permission denied",
    errno.ELOOP: "has links that form a loop or changed while reading",
    errno.ENAMETOOLONG: "has a name in it that is too long",
}
MAX_PICTURE_BYTES: Final = 20_000_000
MAX_PIXELS: Final = 50_000_000
MAX_TEXT_BYTES: Final = 200_000
SENT_KINDS: Final = ("png", "jpeg", "webp", "gif")
"""The kinds that all servers with vision accept."""
_SENDABLE: Final = "Models accept PNG, JPEG, WebP and GIF"
_HEAD: Final = 64
_OTHER_PICTURES: Final = (
    (lazy_re(rb"II\*\x00|MM\x00\*"), "TIFF"),
    (lazy_re(rb".{4}ftyp(?:hei[cfmsx]|hev[cmx]|mif1|msf1)", re.DOTALL), "HEIC"),
    (lazy_re(rb".{4}ftypavi[fs]", re.DOTALL), "AVIF"),
    (lazy_re(rb"\xff\x0a|\x00\x00\x00\x0cJXL "), "JPEG XL"),
    (lazy_re(rb"\x00\x00\x01\x00"), "icon"),
    (lazy_re(rb"%PDF-"), "PDF"),
    (lazy_re(rb"\s*(?:<\?xml[^>]*>\s*)?<svg", re.IGNORECASE), "SVG"),
)
TIMEOUT_S: Final = 10.0
"""How long a disk may take: a network folder that is gone never answers."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The contents of a file."""

    name: str
    """The file's own name, clean; where a link leads, that of its end."""
    data: bytes


def shown_path(path: Path) -> str:
    """Return a path for display: invisible characters spelled out, and shortened."""
    return clean_name(os.fsencode(path).decode(errors="replace")[-_MAX_SHOWN_LENGTH:])


def refusal(sentence: str, hint: str | None = None) -> AIError:
    """Make the error of a file that cannot be attached."""
    return AIError(ErrorCode.BAD_REQUEST, sentence, hint=hint)


def read_file(path: Path, most: int) -> FileBytes:
    """Read a file of at most `most` bytes. May wait for a slow disk: call it in a thread.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    try:
        return _read(path, most)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be read ({error.strerror or error})")
        raise refusal(f"{shown_path(path)} {reason}.") from None


def _read(path: Path, most: int) -> FileBytes:
    # Not strict: a loop of links is reported by what follows.
    end = real_path(path)
    _require_plain(path, end)
    try:
        data = read_bounded(end, most, follows_links=False, within_s=_READING_S)
    except TooLongError:
        size, megabytes = end.stat().st_size, most / 1_000_000
        raise refusal(
            f"{shown_path(path)} has {size / 1e6:,.1f} MB; {megabytes:g} MB is the limit."
        ) from None
    if not data:
        raise refusal(f"{shown_path(path)} is empty.")
    return FileBytes(shown_path(Path(end.name)), data)


def _require_plain(path: Path, end: Path) -> None:
    status = end.lstat()
    shown = shown_path(path)
    if end.parts[1:2] and end.parts[1] in _KERNEL_FOLDERS:
        raise refusal(f"{shown} belongs to the system and is not read.")
    if stat.S_ISDIR(status.st_mode):
        raise refusal(f"{shown} is a folder.", "Name a file in it.")
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    if not stat.S_ISREG(status.st_mode):
        raise refusal(f"{shown} is not a file but a pipe, socket or device.")


@dataclass(frozen=True, slots=True)
class AttachedImage:
    """An image as it will be sent: the file's bytes, unchanged, as base64."""

    name: str
    """The file's own name, clean."""
    kind: str
    size: int
    """Bytes."""
    content: ImageContent
    path: Path | None = field(default=None, compare=False)
    """Where it was read; None if it was in no file."""


@dataclass(frozen=True, slots=True)
class AttachedText:
    """A text file, to be put into the prompt."""

    name: str
    text: str

    @property
    def block(self) -> str:
        """The text as a fenced block under the file's name; no line of it closes the fence."""
        longest = max((len(run) for run in re.findall("`{3,}", self.text)), default=2)
        fence = "`" * max(3, longest + 1)
        ended = self.text if self.text.endswith("\n") else f"{self.text}\n"
        # At the beginning of the input a name must not be taken for a command.
        is_like_command = self.name.lstrip().startswith(("/", "!"))
        name = f"File {self.name}" if is_like_command else self.name
        return f"{name}:\n{fence}\n{ended}{fence}\n"


AttachedFile: TypeAlias = AttachedImage | AttachedMedia
"""What is sent as a block of its own."""
Attachment: TypeAlias = AttachedFile | AttachedText


def attachment_of(file: FileBytes) -> Attachment:
    """Classify a file by its first bytes; its name does not count.

    Raises:
        AIError: BAD_REQUEST if it is nothing that can be sent.
    """
    header = read_image_header(file.data)
    if header is None and (media := media_of(file.name, file.data)) is not None:
        return media
    if header is not None or _other_picture(file.data):
        return _picture(file, header)
    return _text(file)


def image_of(file: FileBytes) -> AttachedImage:
    """Read a file that has to be an image.

    Raises:
        AIError: BAD_REQUEST if it is not an image, or of a kind that cannot be sent.
    """
    return _picture(file, read_image_header(file.data))


def reattached(content: MediaContent) -> AttachedFile | None:
    """Attach a file of a chat again; return None if the chat has only a link to it."""
    if not isinstance(content, ImageContent):
        return media_again(content)
    data = image_data(content.data, content.url)
    header = read_image_header(data.head()) if data is not None else None
    if data is None or header is None or header.kind not in SENT_KINDS:
        return None
    sent = replace(
        content, mime_type=f"image/{header.kind}", width=header.width, height=header.height
    )
    return AttachedImage(content.name or "", header.kind, data.size, sent)


def _picture(file: FileBytes, header: ImageHeader | None) -> AttachedImage:
    if header is None:
        other = _other_picture(file.data)
        if other is None:
            raise refusal(f"{file.name} is not a picture.", f"{_SENDABLE}.")
        article = "an" if other[0] in "AISi" else "a"
        raise refusal(f"{file.name} is {article} {other} file. {_SENDABLE}; convert it first.")
    if header.kind not in SENT_KINDS:
        raise refusal(
            f"{file.name} is a {header.kind.upper()} file. {_SENDABLE}; convert it first."
        )
    if len(file.data) > MAX_PICTURE_BYTES:
        most = MAX_PICTURE_BYTES // 1_000_000
        raise refusal(f"{file.name} has {len(file.data) / 1e6:,.1f} MB; {most} MB is the limit.")
    pixels = header.width * header.height
    if pixels > MAX_PIXELS:
        shown = f"{header.width:,} x {header.height:,} pixels"
        raise refusal(f"{file.name} has {shown}; {MAX_PIXELS // 1_000_000} million is the limit.")
    content = ImageContent(
        data=to_base64(file.data),
        mime_type=f"image/{header.kind}",
        width=header.width,
        height=header.height,
        name=file.name,
    )
    return AttachedImage(file.name, header.kind, len(file.data), content)


def _other_picture(data: bytes) -> str | None:
    head = data[:_HEAD] if data[:1] != b"<" else data[:1024]
    return next((name for sign, name in _OTHER_PICTURES if sign.match(head)), None)


def _text(file: FileBytes) -> AttachedText:
    if len(file.data) > MAX_TEXT_BYTES:
        most = MAX_TEXT_BYTES // 1000
        raise refusal(
            f"{file.name} has {len(file.data) / 1000:,.0f} kB; text up to {most} kB is put into a"
            " prompt."
        )
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise refusal(f"{file.name} is no picture, sound, video, PDF or text.")
    return AttachedText(file.name, text.replace("\r\n", "\n").replace("\r", "\n"))


async def attach(path: Path) -> Attachment:
    """Read a file as what it is.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """

    def work() -> Attachment:
        attachment = attachment_of(read_file(path, MAX_MEDIA_BYTES))
        if isinstance(attachment, AttachedText):
            return attachment
        return replace(attachment, path=path.absolute())

    return await _in_thread(work, path)


async def attach_file(path: Path) -> AttachedFile:
    """Read a file that must be a picture, sound, video or PDF.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    attachment = await attach(path)
    if isinstance(attachment, AttachedText):
        raise refusal(f"{attachment.name} is no picture, sound, video or PDF.")
    return attachment


async def attach_image(path: Path) -> AttachedImage:
    """Read a file that must be a picture.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    return await _in_thread(lambda: image_of(read_file(path, MAX_PICTURE_BYTES)), path)


async def existing_paths(text: str) -> Sequence[Path]:
    """Return the files that a text names, in the first reading in which all exist; often none."""

    def work() -> tuple[Path, ...]:
        return next((paths for paths in readings(text) if all(map(os.path.lexists, paths))), ())

    return await _in_thread(work, Path(text[:40]))


async def named_paths(text: str) -> Sequence[Path]:
    """Return the files that the user names, or the most likely ones if none exists.

    Raises:
        AIError: BAD_REQUEST if it is not a path.
    """
    paths = await existing_paths(text)
    if paths:
        return paths
    candidates = list(readings(text))
    if not candidates:
        raise refusal(f"{shown_path(Path(text[:40]))} is not a path.")
    return candidates[-1]


async def _in_thread(work: Callable[[], T], path: Path) -> T:
    try:
        with anyio.fail_after(TIMEOUT_S):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except TimeoutError:
        raise refusal(
            f"{shown_path(path)} could not be read within {TIMEOUT_S:g} s.",
            "The disk or the network behind it does not answer.",
        ) from None
