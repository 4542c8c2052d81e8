"""Cuts a long JSON text into its chats without reading all of it at once.

The chats are the objects of a list, or objects in a row. Only one of them is in memory at a time,
and one that is too large is passed over.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, Protocol

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import size_text
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MAX_CHAT_BYTES: Final = 256 * 1024 * 1024
MAX_CONTAINERS: Final = 2_000_000
"""Objects and lists in one chat: they take most of the memory."""
_CHUNK: Final = 1 << 20
_MARK: Final = b"\xef\xbb\xbf"
_PLAIN: Final = lazy_re(rb'[^"\[\]{}]*+')
_STRING: Final = lazy_re(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_OPENING: Final = b"{["
_BLANK: Final = b" \t\r\n,"


class Readable(Protocol):
    """A file, or a member of an archive."""

    def read(self, size: int, /) -> bytes | None:
        """Return the next bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something could not be read: a sentence."""

    text: str


def json_chats(file: Readable) -> Iterator[JsonObject | Problem]:
    """Yield the objects of a list, or those that stand in a row. Blocks."""
    cutter = _Cutter()
    is_first = True
    while chunk := file.read(_CHUNK):
        if is_first:
            chunk = chunk.removeprefix(_MARK)
            is_first = False
        for item in cutter.feed(chunk):
            yield _parsed(item) if isinstance(item, bytes) else item
        if cutter.is_broken:
            break
    if cutter.problem is not None:
        yield Problem(cutter.problem)


@dataclass(slots=True)
class _Cutter:
    """Finds where objects begin and end; knows nothing else of JSON."""

    is_broken: bool = False
    _depth: int = 0
    _level: int = 0
    """The depth at which the chats are: 1 in a list."""
    _has_begun: bool = False
    _in_string: bool = False
    _item: bytearray = field(default_factory=bytearray)
    _is_too_large: bool = False
    _carried: bytes = b""

    @property
    def problem(self) -> str | None:
        """Why what is left is not a chat, or None if all was read."""
        if not self._has_begun or self.is_broken:
            return "It is not JSON with chats."
        if self._depth or self._in_string:
            return "It ends in the middle of a chat."
        return None

    def feed(self, chunk: bytes) -> Iterator[bytes | Problem]:
        """Take the next bytes and yield the objects that end in them."""
        data, self._carried = self._carried + chunk, b""
        start = at = 0
        while at < len(data):
            if self._in_string:
                at = self._end_of_string(data, at)
                continue
            plain = _PLAIN.match(data, at)
            end = plain.end() if plain else at
            if self._depth <= self._level and data[at:end].strip(_BLANK):
                self.is_broken = True
                return
            at = end + 1
            if end == len(data):
                break
            sign = data[end]
            if sign == _QUOTE:
                self._in_string = True
            elif sign in _OPENING:
                if self._opens(sign):
                    start = end
            elif self._closes():
                yield self._whole(data[start:at])
                start = at
        if self._depth > self._level:
            self._keep(data[start : len(data) - len(self._carried)])

    def _end_of_string(self, data: bytes, at: int) -> int:
        content = _STRING.match(data, at)
        end = content.end() if content else at
        if end < len(data) and data[end] == _QUOTE:
            self._in_string = False
            return end + 1
        if end < len(data) and data[end] == _BACKSLASH:  # what it escapes comes with the next bytes
            self._carried = data[end:]
        return len(data)

    def _opens(self, sign: int) -> bool:
        """Go a level deeper; return whether a chat begins there."""
        if not self._has_begun:
            self._has_begun = True
            self._level = int(sign == _OPENING[1])
        self._depth += 1
        return self._depth == self._level + 1

    def _closes(self) -> bool:
        """Go a level up; return whether a chat has ended there."""
        self._depth -= 1
        if self._depth < 0:
            self.is_broken = True
        return self._depth == self._level

    def _keep(self, piece: bytes) -> None:
        if len(self._item) + len(piece) > MAX_CHAT_BYTES:
            self._is_too_large = True
            self._item.clear()
        if not self._is_too_large:
            self._item += piece

    def _whole(self, piece: bytes) -> bytes | Problem:
        self._keep(piece)
        item, is_too_large = bytes(self._item), self._is_too_large
        self._item.clear()
        self._is_too_large = False
        return Problem(f"It is over {size_text(MAX_CHAT_BYTES)}.") if is_too_large else item


def _parsed(item: bytes) -> JsonObject | Problem:
    if item.count(b"{") + item.count(b"[") > MAX_CONTAINERS:
        return Problem(f"It has over {MAX_CONTAINERS:,} objects.")
    try:
        value: JsonValue = json.loads(item)
    except RecursionError:
        return Problem("It is nested too deeply.")
    except ValueError:
        return Problem("It is not valid JSON.")
    return value if isinstance(value, dict) else Problem("It is not a chat.")
