"""Reads the header of a GGUF file, without trusting a byte of it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only the header is read, and of
that at most HEADER_LIMIT bytes; counts and lengths are checked before memory is allocated for
them, and expensive steps are counted against WORK_LIMIT.
"""

import os
import re
import struct
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import IO

from ollm_tui.config.regular_file import open_binary
from ollm_tui.library.file_names import is_gguf
from ollm_tui.library.gguf_header import (
    ARRAY,
    BLOCKS,
    FORMATS,
    LAYER_LIMIT,
    MAGIC,
    STRING,
    VERSIONS,
    BadGGUF,
    GGUFHeader,
    Raw,
    is_kept,
    make_header,
    may_draw,
    number,
    text_limit,
)
from ollm_tui.models.checkpoints import checkpoint_of

HEADER_LIMIT = 32 * 1024 * 1024
"""The largest vocabularies take some 15 million bytes."""
PAIR_LIMIT = 100_000
TENSOR_LIMIT = 100_000
ARRAY_LIMIT = 1_000_000
STRING_LIMIT = 10_000_000
KEY_LIMIT = 65_535
TENSOR_NAME_LIMIT = 256
DIMENSION_LIMIT = 8
ALIGNMENT_LIMIT = 1024 * 1024
PIECE = 1024 * 1024
MAX_INT64 = 2**63 - 1
KEY_SHOWN = 100

WORK_LIMIT = 1_000_000
"""Steps for one header. The largest vocabularies take 800,000, and 1,000 tensors 80,000."""
TEXT_WORK, LONG_TEXT_WORK, PAIR_WORK, TENSOR_WORK = 1, 160, 60, 80
"""The cost of one of each in steps; a step takes at most about 60 ns."""
BYTES_KEPT_A_STEP = 16
"""Limits what is kept in memory."""
ROW = 32
MAX_SHORT_STRING_LENGTH = 255
_unpack_length = struct.Struct("<Q").unpack_from


def read_header(path: Path) -> GGUFHeader:
    """Read a file's header; blocks.

    Raises:
        BadGGUF: the file is broken, cut short, or not GGUF.
        OSError: the file cannot be read.
    """
    with BufferedReader(open_binary(path)) as file:
        return _Reader(file).header()


def gguf_problem(path: Path) -> str | None:
    """Return why a file is no usable GGUF; None if it is one, or is not named like one. Blocks.

    Raises:
        OSError: it cannot be read.
    """
    if not is_gguf(path):
        return None
    try:
        read_header(path)
    except BadGGUF as bad:
        return bad.reason
    return None


class _Reader:
    """Reads the header once, from front to back."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._window = b""
        self._at = 0
        self._before = 0
        self._work_left = WORK_LIMIT

    @property
    def _position(self) -> int:
        return self._before + self._at

    def header(self) -> GGUFHeader:
        tensor_count, pair_count = self._start()
        raw = self._pairs(pair_count)
        alignment = number(raw, b"general.alignment") or 32
        if not 0 < alignment <= ALIGNMENT_LIMIT or alignment & (alignment - 1):
            raise BadGGUF(f"alignment {alignment}")
        names: list[bytes] | None = [] if may_draw(raw) else None
        parameters, end_of_data = self._tensors(tensor_count, names)
        data = -(-self._position // alignment) * alignment
        needed = data + end_of_data if tensor_count else self._position
        if needed > self._size:
            raise BadGGUF(f"it is cut short: {self._size} of {needed} bytes are there")
        checkpoint = checkpoint_of(one.decode(errors="replace") for one in names or ())
        return make_header(
            raw,
            parameters=parameters,
            tensors=tensor_count,
            needed=needed,
            checkpoint=checkpoint,
        )

    def _start(self) -> tuple[int, int]:
        if self._size == 0:
            raise BadGGUF("it is empty")
        if self._size < len(MAGIC) or self._take(len(MAGIC)) != MAGIC:
            raise BadGGUF("it does not begin with GGUF")
        version = self._uint32()
        if version not in VERSIONS:
            is_big_endian = version & 0xFFFF == 0
            unknown = f"format version {version} is not known"
            raise BadGGUF("it is written for big-endian machines" if is_big_endian else unknown)
        tensors, pairs = self._uint64(), self._uint64()
        _check("tensor count", tensors, TENSOR_LIMIT)
        _check("number of keys", pairs, PAIR_LIMIT)
        self._spend(tensors * TENSOR_WORK + pairs * PAIR_WORK)
        return tensors, pairs

    def _spend(self, steps: int) -> None:
        self._work_left -= steps
        if self._work_left < 0:
            raise BadGGUF("its header holds more keys, texts and tensors than any model needs")

    def _pairs(self, count: int) -> dict[bytes, Raw]:
        raw: dict[bytes, Raw] = {}
        for _ in range(count):
            key = self._string("key", KEY_LIMIT)
            kept = is_kept(key)
            kind = self._uint32()
            if kind == ARRAY:
                value = self._array(key, kept=kept)
            elif kind == STRING:
                value = self._text(key, kept=kept)
            else:
                value = kind, -1, self._take(_width(kind))
            if kept and value is not None:
                self._spend((len(key) + len(value[2])) // BYTES_KEPT_A_STEP)
                raw[key] = value
        return raw

    def _text(self, key: bytes, *, kept: bool) -> Raw | None:
        length = self._uint64()
        _check(f"length of a text of {_shown(key)}", length, STRING_LIMIT)
        if kept and length <= text_limit(key):
            return STRING, -1, self._take(length)
        self._skip(length)
        return None

    def _array(self, key: bytes, *, kept: bool) -> Raw | None:
        kind, count = self._uint32(), self._uint64()
        _check(f"array length of {_shown(key)}", count, ARRAY_LIMIT)
        if kind == ARRAY:
            raise BadGGUF(f"{_shown(key)} is an array of arrays")
        if kind == STRING:
            self._spend(count * TEXT_WORK)
            self._skip_texts(key, count)
            return None
        size = count * _width(kind)
        if kept and count <= LAYER_LIMIT:
            return kind, count, self._take(size)
        self._skip(size)
        return None

    def _skip_texts(self, key: bytes, count: int) -> None:
        while count:
            end = pass_row(self._window, self._at) if count >= ROW else None
            if end is None:
                walked = min(count, ROW)
                self._skip_one_by_one(key, walked)
                count -= walked
            else:
                self._at = end
                count -= ROW
                self._check_room(0)

    def _skip_one_by_one(self, key: bytes, count: int) -> None:
        """Skip texts that are long, few, or at the end of the window."""
        for _ in range(count):
            if self._at + 8 > len(self._window):
                self._fill(8)
            (length,) = _unpack_length(self._window, self._at)
            self._at += 8
            if length > MAX_SHORT_STRING_LENGTH:
                _check(f"text length in {_shown(key)}", length, STRING_LIMIT)
                self._spend(LONG_TEXT_WORK)
            self._skip(length)

    def _tensors(self, count: int, names: list[bytes] | None) -> tuple[int, int]:
        """Return the number of parameters, and where the tensor data ends; collect `names`."""
        parameters = end = 0
        for _ in range(count):
            name = self._string("tensor name", TENSOR_NAME_LIMIT)
            if names is not None:
                names.append(name)
            values = self._dimensions()
            kind, offset = self._uint32(), self._uint64()
            block, width = BLOCKS.get(kind, (1, 0))  # an unknown type is left to the engine
            end = max(end, offset + values // block * width)
            parameters += values
        return parameters, end

    def _dimensions(self) -> int:
        count = self._uint32()
        _check("number of dimensions", count, DIMENSION_LIMIT)
        product = 1
        for _ in range(count):
            product *= self._uint64()
            if product > MAX_INT64:
                raise BadGGUF("a tensor's dimensions overflow")
        return product

    def _string(self, what: str, limit: int) -> bytes:
        length = self._uint64()
        _check(f"length of a {what}", length, limit)
        return self._take(length)

    def _uint32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _uint64(self) -> int:
        return int.from_bytes(self._take(8), "little")

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._window):
            self._fill(count)
            end = count
        piece = self._window[self._at : end]
        self._at = end
        return piece

    def _skip(self, count: int) -> None:
        if self._at + count <= len(self._window):
            self._at += count
            return
        self._check_room(count)
        self._before = self._position + count
        self._window, self._at = b"", 0
        self._file.seek(self._before)

    def _fill(self, count: int) -> None:
        self._check_room(count)
        kept = self._window[self._at :]
        self._before = self._position
        wanted = max(PIECE, count) - len(kept)
        self._window, self._at = kept + self._file.read(wanted), 0
        if len(self._window) < count:
            raise BadGGUF("it ends in the middle of its header")

    def _check_room(self, count: int) -> None:
        end = self._position + count
        if end > self._size:
            raise BadGGUF("it ends in the middle of its header")
        if end > HEADER_LIMIT:
            raise BadGGUF(f"its header is longer than {HEADER_LIMIT} bytes")


def _width(kind: int) -> int:
    if kind not in FORMATS:
        raise BadGGUF(f"value type {kind} does not exist")
    return struct.calcsize(FORMATS[kind])


def _shown(key: bytes) -> str:
    return key[:KEY_SHOWN].decode(errors="replace")


def _check(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise BadGGUF(f"{what} is {value}, at most {limit} is allowed")


def pass_row(window: bytes, at: int) -> int | None:
    """Return the end of the row of ROW short texts that begins at `at`; None if there is none.

    A packed text is a length of eight bytes and its bytes. A vocabulary has up to a million of
    them, and a step in Python for each would take most of the time of reading a header. The
    pattern's repetitions are possessive: each byte is passed once.
    """
    match = _row().match(window, at)
    return None if match is None else match.end()


@lru_cache(maxsize=1)
def _row() -> re.Pattern[bytes]:
    """Compile the pattern for the first vocabulary: it takes some milliseconds."""
    texts = (
        re.escape(bytes([length])) + rb"\0{7}" + (b".{%d}" % length if length else b"")
        for length in range(MAX_SHORT_STRING_LENGTH + 1)
    )
    return re.compile(b"(?:" + b"|".join(texts) + b"){%d}+" % ROW, re.DOTALL)
