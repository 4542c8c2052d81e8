"""Read rows from the pages of a SQLite file, without its indexes, roots or header.

After https://www.sqlite.org/fileformat2.html. Everything is bounded by the length of the file, and
what does not fit the format is skipped.
"""

import mmap
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.regular_file import open_binary
from ollm_tui.dataclass import dataclass

Value: TypeAlias = "int | float | str | bytes | None"
Bytes: TypeAlias = "mmap.mmap | bytes"
TABLE_LEAF: Final = 13
_SIZES: Final = tuple(2**power for power in range(9, 17))
_USUAL: Final = 4096
_FILE_HEADER: Final = 100
_PAGE_HEADER: Final = 8
_MAX_HEADER_BYTES: Final = 4096
_MAX_RESERVED: Final = 32
_APPLE: Final = 12
"""Bytes that the SQLite of macOS reserves."""
_INTEGERS: Final[Mapping[int, int]] = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_WAL_HEADER, _FRAME_HEADER = 32, 24
_MAX_LOG_BYTES: Final = 1 << 30
"""SQLite resets its log after a few megabytes; one transaction may have added this much."""
_WAL_MAGIC_BIG: Final = 0x377F0683
_MAX_PAGES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of a page, and how many bytes at its end are reserved."""

    size: int
    reserved: int


class Pages:
    """The pages of a database file, overlaid with those of its write-ahead log."""

    def __init__(self, data: Bytes, log: bytes, layout: Layout) -> None:
        self._data = data
        self.size = layout.size
        self._usable = layout.size - layout.reserved
        self._logged = _logged_pages(log, self.size)
        self.count = max(len(data) // self.size, *self._logged, 0)

    def page(self, number: int) -> bytes:
        """Return a page, counted from 1; empty if it does not exist."""
        if number in self._logged:
            return self._logged[number]
        return self._data[(number - 1) * self.size : number * self.size] if number > 0 else b""

    def rows(self) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """Yield the rows of all tables with their row ids; their table is not known."""
        for number in range(1, self.count + 1):
            page = self.page(number)
            start = _FILE_HEADER if number == 1 else 0
            if len(page) == self.size and page[start] == TABLE_LEAF:
                yield from self._leaf(page, start)

    def _leaf(self, page: bytes, start: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
        (count,) = struct.unpack_from(">H", page, start + 3)
        places = start + _PAGE_HEADER
        for cell in range(min(count, (self._usable - places) // 2)):
            (at,) = struct.unpack_from(">H", page, places + 2 * cell)
            if at < places:
                continue
            length, at = _varint(page, at)
            row_id, at = _varint(page, at)
            payload = self._payload(page, at, length)
            if payload and (values := _record(payload, length)) is not None:
                yield row_id, values

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """Return the payload of a cell; it is cut off at a broken or missing page."""
        if not 0 < length <= self.count * self.size:
            return b""
        local = self._local(length)
        parts, left = [page[at : at + local]], length - local
        following = int.from_bytes(page[at + local : at + local + 4]) if left else 0
        seen: set[int] = set()
        while left > 0 and 0 < following <= self.count and following not in seen:
            seen.add(following)
            overflow = self.page(following)
            parts.append(overflow[4 : 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
            following = int.from_bytes(overflow[:4])
        return b"".join(parts)

    def _local(self, length: int) -> int:
        most = self._usable - 35
        if length <= most:
            return length
        least = (self._usable - 12) * 32 // 255 - 23
        kept = least + (length - least) % (self._usable - 4)
        return kept if kept <= most else least


def read_rows(path: Path, layout: Layout) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the rows of all tables of a file, and of a write-ahead log beside it.

    Raises:
        OSError: the file cannot be read.
    """
    log = log_of(path)
    if not path.exists() or not path.stat().st_size:
        yield from Pages(b"", log, layout).rows()
        return
    with open_binary(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield from Pages(data, log, layout).rows()


def layouts(path: Path) -> tuple[Layout, ...]:
    """Return the layouts that a file may have: those of its header and log, and the usual ones.

    Raises:
        OSError: the file cannot be read.
    """
    header = b""
    if path.exists():
        with open_binary(path) as file:
            header = file.read(_FILE_HEADER)
    reserved = header[20] if len(header) > 20 else 0
    sizes = (int.from_bytes(header[16:18]), int.from_bytes(log_of(path)[8:12]))
    declared = [Layout(65536 if size == 1 else size, reserved) for size in sizes]
    usual = [Layout(_USUAL, 0), Layout(_USUAL, _APPLE)]
    known = [one for one in declared if one.size in _SIZES and reserved <= _MAX_RESERVED]
    return tuple(dict.fromkeys((*known, *usual)))


def log_of(path: Path) -> bytes:
    """Return the write-ahead log beside a file; empty if there is none."""
    log = path.with_name(f"{path.name}-wal")
    if not log.exists():
        return b""
    with open_binary(log) as file:
        return file.read(_MAX_LOG_BYTES)


def hides_commits(log: bytes) -> bool:
    """Return whether a broken frame hides commits behind it in the log from SQLite.

    SQLite reads a log up to the first frame whose checksum is wrong. After a crash there is nothing
    of the same generation behind it that was committed.
    """
    size = int.from_bytes(log[8:12])
    order = ">" if int.from_bytes(log[:4]) == _WAL_MAGIC_BIG else "<"
    sums = _checksum(log[:24], order, (0, 0))
    is_sound = size in _SIZES and log[24:32] == struct.pack(">II", *sums)
    salts = _salts(log, size if is_sound else _USUAL)
    for frame in _frames(log, size if is_sound else _USUAL):
        if is_sound:
            sums = _checksum(frame[:8] + frame[_FRAME_HEADER:], order, sums)
            is_sound = frame[8:16] == salts and frame[16:24] == struct.pack(">II", *sums)
        if not is_sound and frame[8:16] == salts and frame[4:8] != bytes(4):
            return True
    return False


def _frames(log: bytes, size: int) -> Iterator[bytes]:
    length = _FRAME_HEADER + size
    for at in range(_WAL_HEADER, len(log) - length + 1, length):
        yield log[at : at + length]


def _salts(log: bytes, size: int) -> bytes:
    """Return the salts of the present generation, by majority of header and first frames."""
    salts = Counter([log[16:24], *(frame[8:16] for frame in islice(_frames(log, size), 8))])
    return salts.most_common(1)[0][0]


def _checksum(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = first + one + second & 0xFFFFFFFF
        second = second + two + first & 0xFFFFFFFF
    return first, second


def _logged_pages(log: bytes, size: int) -> dict[int, bytes]:
    """Return the newest committed form of each page in a write-ahead log.

    Checksums are ignored: a broken frame must not hide those that were written after it.
    """
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    salts = _salts(log, size)
    for frame in _frames(log, size):
        number, is_end = struct.unpack_from(">II", frame)
        is_present = frame[8:12] == salts[:4] or frame[12:16] == salts[4:]
        if not is_present or number > _MAX_PAGES:
            continue
        waiting[number] = frame[_FRAME_HEADER:]
        if is_end:
            committed |= waiting
            waiting = {}
    return committed


def _record(payload: bytes, length: int) -> tuple[Value, ...] | None:
    """Read a record, or return None if it is not one. The last value may be cut off."""
    header, at = _varint(payload, 0)
    if not at < header <= min(len(payload), _MAX_HEADER_BYTES):
        return None
    kinds = []
    while at < header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != header or header + sum(map(_width, kinds)) != length:
        return None
    return tuple(_values(payload, at, kinds))


def _values(payload: bytes, at: int, kinds: Sequence[int]) -> Iterator[Value]:
    for kind in kinds:
        raw = payload[at : at + _width(kind)]
        at += _width(kind)
        if kind in {8, 9}:
            yield kind - 8
        elif kind in _INTEGERS:
            yield int.from_bytes(raw, signed=True)
        elif kind == 7:
            yield struct.unpack(">d", raw)[0] if len(raw) == 8 else None
        elif kind >= 12:
            yield raw.decode("utf-8", "replace") if kind % 2 else raw
        else:
            yield None


def _width(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    return 8 if kind == 7 else _INTEGERS.get(kind, 0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, min(at + 9, len(data))):
        byte = data[place]
        if place == at + 8:
            return value << 8 | byte, place + 1
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, place + 1
    return 0, len(data) + 1
