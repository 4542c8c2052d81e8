"""The pictures of an archive, beside its chats: each is read when a message has it."""

import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from ollm_tui.attachments.attachment import MAX_PICTURE_BYTES, FileBytes, image_of
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError

MAX_CHAT_BYTES: Final = 128 * 1024 * 1024
"""The pictures of one chat, which is in memory as a whole."""
_MAX_ID_LENGTH: Final = 200
_SHOWN_NAME: Final = 60
_UNREADABLE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError),
)


class ArchivePictures:
    """Finds the picture that a chat points at, as in `file-service://file-1a2b`.

    The name of its file begins with the id that is pointed at, in whatever folder it is.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        named = ((one.filename.rpartition("/")[2], one) for one in archive.infolist())
        self._members = sorted(
            ((name, member) for name, member in named if name), key=lambda one: one[0]
        )
        self._left = MAX_CHAT_BYTES

    def begin_chat(self) -> None:
        """Count the bytes of another chat."""
        self._left = MAX_CHAT_BYTES

    def block(self, pointer: str) -> ImageContent | TextContent | None:
        """Return a picture, a sentence on why there is none, or None if it is not there."""
        wanted = _id_of(pointer)
        for name, member in self._beginning_with(wanted) if wanted else ():
            shown = _name(name, wanted)
            try:
                return self._read(shown, member)
            except AIError as error:
                return _sentence(error.message)
            except _UNREADABLE:
                return _sentence(f"{shown} is damaged or protected by a password.")
        return None

    def _beginning_with(self, wanted: str) -> Iterator[tuple[str, zipfile.ZipInfo]]:
        at = bisect_left(self._members, wanted, key=lambda one: one[0])
        while at < len(self._members) and self._members[at][0].startswith(wanted):
            name, member = self._members[at]
            if not name[len(wanted) : len(wanted) + 1].isalnum():
                yield name, member
            at += 1

    def _read(self, name: str, member: zipfile.ZipInfo) -> ImageContent | TextContent:
        archive = self._archive
        with archive.open(member) as file:
            # The size that the archive names may be wrong.
            data = file.read(MAX_PICTURE_BYTES + 1)
        content = image_of(FileBytes(name, data)).content
        if len(data) > self._left:
            most = size_text(MAX_CHAT_BYTES)
            return _sentence(f"The pictures of this chat have over {most}; {name} is left out.")
        self._left -= len(data)
        return content


def _id_of(pointer: str) -> str:
    after = pointer.rpartition("://")[2]
    for end in "?#":
        after = after.partition(end)[0]
    return after if len(after) <= _MAX_ID_LENGTH else ""


def _name(name: str, wanted: str) -> str:
    """Return the name that a file had before the export put its id in front."""
    own = name[len(wanted) :].lstrip("-_")
    return clean_name((own if own.rpartition(".")[0] else name)[-_SHOWN_NAME:])


def _sentence(text: str) -> TextContent:
    return TextContent(f"[A picture cannot be shown. {text}]")
