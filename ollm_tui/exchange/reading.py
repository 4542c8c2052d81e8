"""Reads the chats of a file: which program it is of is known by what is in it."""

import io
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, TypeAlias

from ollm_tui.config.regular_file import open_binary, why_unreadable
from ollm_tui.decode.clean import clean_name
from ollm_tui.exchange import document
from ollm_tui.exchange.archive_pictures import ArchivePictures
from ollm_tui.exchange.foreign import Origin
from ollm_tui.exchange.import_rules import without_effects
from ollm_tui.exchange.json_items import Problem, Readable, json_chats
from ollm_tui.exchange.sources import chatgpt, llm, lm_studio, open_webui, oterm, parllama
from ollm_tui.exchange.sources.sqlite_file import open_tables
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.store.records import ChatRecord

Outcome: TypeAlias = ChatRecord | Problem
"""What was read of one chat."""
JSON_SOURCES: Final = (chatgpt, open_webui, lm_studio, parllama)
DATABASE_SOURCES: Final = (oterm, llm)
_SQLITE: Final = b"SQLite format 3\0"
_ZIP: Final = b"PK\x03\x04"
_HEAD: Final = 16
_MEMBER: Final = lazy_re(r"(?:.*/)?conversations(?:-\d+)?\.json")
_MAX_MEMBERS: Final = 200_000
_MAX_RATIO: Final = 200
"""Text of chats is seldom packed to less than a twentieth; a bomb to a thousandth."""
_UNSUSPICIOUS: Final = 64 * 1024 * 1024
_SHOWN_TITLE: Final = 60


class ImportFile:
    """A file with chats, read while its records are taken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.position = 0
        """Bytes that were read so far, for a progress display."""

    def chats(self) -> Iterator[Outcome]:
        """Yield the chats and the problems of those that cannot be read. Blocks."""
        try:
            with open_binary(self.path) as raw, io.BufferedReader(raw) as file:
                self.size = self.path.stat().st_size
                origin = Origin(self.path, int(self.path.stat().st_mtime * 1000))
                for one in self._read(file, origin):
                    yield without_effects(one) if isinstance(one, ChatRecord) else one
        except (OSError, ValueError) as error:
            yield Problem(f"It cannot be read: {why_unreadable(error)}.")
        self.position = self.size

    def _read(self, file: "io.BufferedReader[io.FileIO]", origin: Origin) -> Iterator[Outcome]:
        head = file.peek(_HEAD)[:_HEAD]
        if head.startswith(_SQLITE):
            yield from _database(origin)
        elif head.startswith(_ZIP):
            yield from self._archive(file, origin)
        else:
            yield from _json(self._watched(file, file), origin)

    def _archive(self, file: "io.BufferedReader[io.FileIO]", origin: Origin) -> Iterator[Outcome]:
        try:
            with zipfile.ZipFile(file) as archive:
                members = [one for one in archive.infolist() if _MEMBER.fullmatch(one.filename)]
                if not members or len(archive.infolist()) > _MAX_MEMBERS:
                    yield Problem("It is an archive without conversations.json.")
                    return
                origin = replace(origin, pictures=ArchivePictures(archive))
                for member in members:
                    if _is_bomb(member):
                        yield Problem("It is packed as no chats are; nothing of it was read.")
                        continue
                    with archive.open(member) as content:
                        yield from _json(self._watched(content, file), origin)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
            yield Problem("The archive is damaged or protected by a password.")

    def _watched(self, content: IO[bytes], file: "io.BufferedReader[io.FileIO]") -> Readable:
        return _Watched(content, lambda: self._note(file.tell()))

    def _note(self, position: int) -> None:
        self.position = position


class _Watched:
    """Notes how far a file was read."""

    def __init__(self, content: IO[bytes], note: Callable[[], None]) -> None:
        self._content = content
        self._note = note

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""
        data = self._content.read(size)
        self._note()
        return data


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    if member.file_size <= _UNSUSPICIOUS:
        return False
    return member.file_size > _MAX_RATIO * max(1, member.compress_size)


def _json(content: Readable, origin: Origin) -> Iterator[Outcome]:
    for number, item in enumerate(json_chats(content), 1):
        if origin.pictures is not None:
            origin.pictures.begin_chat()
        if isinstance(item, Problem):
            yield item if number == 1 else Problem(f"Chat {number}: {item.text}")
        elif (outcome := _chat(item, origin, number)) is not None:
            yield outcome


def _chat(data: JsonObject, origin: Origin, number: int) -> Outcome | None:
    """Return the chat of an object, or None if it has no message."""
    try:
        if document.is_document(data):
            own = document.read_document(data)
            return own if own.messages else None
        for source in JSON_SOURCES:
            if source.fits(data):
                record: ChatRecord | None = source.read(data, origin)
                return record
    except AIError as error:
        hint = f" {error.hint}" if error.hint else ""
        return Problem(f"{_named(data, number)}{error.message}{hint}")
    except (ValueError, RecursionError, OverflowError):
        return Problem(f"{_named(data, number)}It cannot be read.")
    return Problem(f"{_named(data, number)}It is of no program that ollm knows.")


def _named(data: JsonObject, number: int) -> str:
    title = data.get("title") or data.get("name")
    shown = f" ({clean_name(title[:_SHOWN_TITLE])})" if isinstance(title, str) and title else ""
    return f"Chat {number}{shown}: "


def _database(origin: Origin) -> Iterator[Outcome]:
    try:
        with open_tables(origin.path) as tables:
            for source in DATABASE_SOURCES:
                if source.fits(tables):
                    yield from source.read(tables, origin)
                    return
            yield Problem("It is a database of no program that ollm knows.")
    except AIError as error:
        yield Problem(f"{error.message} {error.hint}")
    except (sqlite3.Error, ValueError, RecursionError, OverflowError):
        yield Problem("The database cannot be read.")
