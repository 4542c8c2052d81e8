"""The files attached to a draft, as they are written down with it and attached again.

The text of a draft ends in a list of them. A file is listed by its path, and read again from there;
a picture of the clipboard, which has none, by the name of a file beside the draft.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import objects, string
from ollm_tui.lazy import lazy_re
from ollm_tui.tui.composer.pictures import TOKEN, DraftPictures

if TYPE_CHECKING:
    # the vocabulary of files is loaded with the first of them
    from ollm_tui.attachments.attachment import AttachedFile
    from ollm_tui.protocol.json_types import JsonObject

_LIST: Final = "\0"  # begins the list
MAX_FILES: Final = 20
NAME: Final = lazy_re(r"[0-9a-f]{16}")
OwnFiles: TypeAlias = Mapping[str, bytes | str]
"""The bytes of the files beside a draft, by their names."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of a draft as it is listed; it has a path, or a file beside the draft."""

    number: int
    is_beside: bool
    """Whether it belongs to the next prompt whatever its text."""
    path: Path | None = None
    name: str = ""
    own: str = ""


def with_files(text: str, files: Sequence[KeptFile]) -> str:
    """Return a text with the list of its files."""
    listed = [
        {"number": one.number, "beside": one.is_beside, "name": one.name}
        | ({"own": one.own} if one.path is None else {"path": os.fsencode(one.path).hex()})
        for one in files
    ]
    return f"{text}{_LIST}{json.dumps(listed)}" if listed else text


def without_files(kept: str) -> tuple[str, list[KeptFile]]:
    """Return the text and the list of its files."""
    text, mark, listed = kept.rpartition(_LIST)
    try:
        values = objects(json.loads(listed)) if mark else []
    except (ValueError, RecursionError):
        values = []
    if not values:
        return kept, []
    return text, [file for one in values[:MAX_FILES] if (file := _file(one)) is not None]


def _file(listed: "JsonObject") -> KeptFile | None:
    number, path, own = listed.get("number"), string(listed, "path"), string(listed, "own") or ""
    if not isinstance(number, int) or not 0 < number < 1_000_000:
        return None
    is_beside, name = listed.get("beside") is True, string(listed, "name") or ""
    if path is None:
        return KeptFile(number, is_beside, None, name, own) if NAME.fullmatch(own) else None
    try:
        return KeptFile(number, is_beside, Path(os.fsdecode(bytes.fromhex(path))), name)
    except ValueError:
        return None


@dataclass(slots=True)
class AttachedFiles:
    """The files of the draft in the input."""

    pictures: DraftPictures
    _names: dict[int, str] = field(default_factory=dict)

    def kept(self, draft: str, value: str, *, has_beside: bool = True) -> str:
        """Return the text of the input with the list of its files."""
        files = self._files(draft, has_beside=has_beside)
        if not files:
            return self.pictures.without(value)
        return with_files(value, [self._listed(number, file) for number, file in files])

    def own(self, draft: str, *, has_beside: bool = True) -> OwnFiles:
        """Return the bytes of the files that have no path."""
        return {
            self._name(number): file.content.data
            for number, file in self._files(draft, has_beside=has_beside)
            if file.path is None and file.content.data is not None
        }

    def _files(self, draft: str, *, has_beside: bool) -> "list[tuple[int, AttachedFile]]":
        if not self.pictures:
            return []
        beside = {number for number, _file in self.pictures.beside}
        files = self.pictures.attached(draft)
        return [one for one in files if has_beside or one[0] not in beside]

    def _listed(self, number: int, file: "AttachedFile") -> KeptFile:
        is_beside = any(number == other for other, _file in self.pictures.beside)
        own = "" if file.path is not None else self._name(number)
        return KeptFile(number, is_beside, file.path, file.name, own)

    def _name(self, number: int) -> str:
        return self._names.setdefault(number, os.urandom(8).hex())

    def put_back(
        self, text: str, files: "Sequence[tuple[KeptFile, AttachedFile | None]]"
    ) -> tuple[str, list[str]]:
        """Attach files again; return the text with their tokens, and the names of those missing."""
        tokens = dict(self._tokens(files))
        missing = [kept.name for kept, file in files if file is None]

        def token(match: re.Match[str]) -> str:
            return tokens.get(int(match["number"]), match[0])

        return TOKEN.sub(token, text), missing

    def _tokens(
        self, files: "Sequence[tuple[KeptFile, AttachedFile | None]]"
    ) -> Iterator[tuple[int, str]]:
        for kept, file in files:
            token = ""
            if file is not None:
                token = self.pictures.put_back(kept.number, file, is_beside=kept.is_beside)
            yield kept.number, token


async def read_again(
    files: Sequence[KeptFile], own: Callable[[str], bytes]
) -> "list[tuple[KeptFile, AttachedFile | None]]":
    """Read the files of a draft; None for one that is not there any more.

    `own` returns the bytes of a file beside the draft, and is called in a thread.
    """
    if not files:
        return []
    # Loaded with the first file.
    from anyio.to_thread import run_sync

    from ollm_tui.attachments.attachment import AttachedText, FileBytes, attach_file, attachment_of
    from ollm_tui.protocol.errors import AIError

    def from_own(kept: KeptFile) -> "AttachedFile | None":
        file = attachment_of(FileBytes(kept.name, own(kept.own)))
        return None if isinstance(file, AttachedText) else file

    again: list[tuple[KeptFile, AttachedFile | None]] = []
    for kept in files:
        file: AttachedFile | None = None
        with suppress(AIError):
            if kept.path is not None:
                file = await attach_file(kept.path)
            else:
                file = await run_sync(from_own, kept)
        again.append((kept, file))
    return again
