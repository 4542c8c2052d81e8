"""What a GGUF file says about itself, read without trusting a byte of it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only the header is read, and of
that at most HEADER_LIMIT bytes; counts and lengths are checked before anything is made of them.
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

MAGIC = b"GGUF"
VERSIONS = (2, 3)
HEADER_LIMIT = 64 * 1024 * 1024
PAIR_LIMIT = 100_000
TENSOR_LIMIT = 100_000
ARRAY_LIMIT = 1_000_000
STRINGS_LIMIT = 2_000_000
"""Strings in all arrays together: each costs a step."""
STRING_LIMIT = 10_000_000
KEY_LIMIT = 65_535
TENSOR_NAME_LIMIT = 256
DIMENSION_LIMIT = 8
ALIGNMENT_LIMIT = 1024 * 1024
PIECE = 1024 * 1024
MAX_INT64 = 2**63 - 1

_STRING, _ARRAY = 8, 9
_FORMATS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_BLOCKS: Mapping[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
}  # fmt: skip
"""Values in a block and bytes of a block, for the tensor types whose layout is settled."""
_FILE_TYPES: Mapping[int, str] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip

Scalar: TypeAlias = bool | int | float | str


class BadGGUF(Exception):
    """The file is not a usable GGUF; `reason` completes "not a usable GGUF file: ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class GGUFHeader:
    """What is known about a model without loading it; None where the file does not say."""

    name: str | None
    architecture: str
    quantization: str | None
    context_trained: int | None
    chat_template: str | None
    tokenizer: str | None
    parameters: int
    tensors: int
    size_needed: int
    """Bytes that the file must have for its tensors to be in it."""
    shards: int


def read_header(path: Path) -> GGUFHeader:
    """Read a file's header.

    Raises:
        BadGGUF: the file is broken, cut short, or not GGUF.
        OSError: the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        return _Reader(file).header()


class _Reader:
    """Walks the header once, from front to back."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._window = b""
        self._at = 0
        self._before = 0
        self._strings_left = STRINGS_LIMIT

    @property
    def _position(self) -> int:
        return self._before + self._at

    def header(self) -> GGUFHeader:
        tensor_count, pair_count = self._start()
        facts = self._pairs(pair_count)
        alignment = _alignment(facts)
        parameters, end_of_data = self._tensors(tensor_count)
        data = -(-self._position // alignment) * alignment
        needed = data + end_of_data if tensor_count else self._position
        if needed > self._size:
            raise BadGGUF(f"it is cut short: {self._size} of {needed} bytes are there")
        return _header(facts, parameters=parameters, tensors=tensor_count, needed=needed)

    def _start(self) -> tuple[int, int]:
        if self._size == 0:
            raise BadGGUF("it is empty")
        if self._size < len(MAGIC) or self._take(len(MAGIC)) != MAGIC:
            raise BadGGUF("it does not begin with GGUF")
        version = self._uint32()
        if version not in VERSIONS:
            raise BadGGUF(_version_reason(version))
        tensors, pairs = self._uint64(), self._uint64()
        _check("tensor count", tensors, TENSOR_LIMIT)
        _check("number of keys", pairs, PAIR_LIMIT)
        return tensors, pairs

    def _pairs(self, count: int) -> dict[str, Scalar]:
        facts: dict[str, Scalar] = {}
        for _ in range(count):
            key = self._string("key", KEY_LIMIT)
            kind = self._uint32()
            if kind == _ARRAY:
                self._skip_array(key)
            else:
                facts[key] = self._scalar(key, kind)
        return facts

    def _scalar(self, key: str, kind: int) -> Scalar:
        if kind == _STRING:
            return self._string(f"text of {key}", STRING_LIMIT)
        value: Scalar = struct.unpack(_format(kind), self._take(_width(kind)))[0]
        return value

    def _skip_array(self, key: str) -> None:
        kind, count = self._uint32(), self._uint64()
        _check(f"array length of {key}", count, ARRAY_LIMIT)
        if kind == _ARRAY:
            raise BadGGUF(f"{key} is an array of arrays")
        if kind == _STRING:
            self._skip_strings(key, count)
        else:
            self._skip(count * _width(kind))

    def _skip_strings(self, key: str, count: int) -> None:
        self._strings_left -= count
        if self._strings_left < 0:
            raise BadGGUF(f"it holds more than {STRINGS_LIMIT} texts")
        for _ in range(count):
            length = self._uint64()
            _check(f"text length in {key}", length, STRING_LIMIT)
            self._skip(length)

    def _tensors(self, count: int) -> tuple[int, int]:
        """Give the number of parameters, and where the tensor data ends."""
        parameters = end = 0
        for _ in range(count):
            self._string("tensor name", TENSOR_NAME_LIMIT)
            values = self._dimensions()
            kind, offset = self._uint32(), self._uint64()
            block, width = _BLOCKS.get(kind, (1, 0))  # an unknown type is the engine's to judge
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

    def _string(self, what: str, limit: int) -> str:
        length = self._uint64()
        _check(f"length of a {what}", length, limit)
        return self._take(length).decode(errors="replace")

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
        self._window, self._at = kept + self._read(wanted), 0
        if len(self._window) < count:
            raise BadGGUF("it ends in the middle of its header")

    def _read(self, count: int) -> bytes:
        pieces = []
        while count > 0 and (piece := self._file.read(count)):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def _check_room(self, count: int) -> None:
        end = self._position + count
        if end > self._size:
            raise BadGGUF("it ends in the middle of its header")
        if end > HEADER_LIMIT:
            raise BadGGUF(f"its header is longer than {HEADER_LIMIT} bytes")


def _header(
    facts: Mapping[str, Scalar], *, parameters: int, tensors: int, needed: int
) -> GGUFHeader:
    architecture = _text(facts, "general.architecture")
    if not architecture:
        raise BadGGUF("it names no architecture")
    file_type = _number(facts, "general.file_type")
    return GGUFHeader(
        name=_text(facts, "general.name"),
        architecture=architecture,
        quantization=None if file_type is None else _FILE_TYPES.get(file_type),
        context_trained=_number(facts, f"{architecture}.context_length"),
        chat_template=_text(facts, "tokenizer.chat_template"),
        tokenizer=_text(facts, "tokenizer.ggml.model"),
        parameters=parameters,
        tensors=tensors,
        size_needed=needed,
        shards=_number(facts, "split.count") or 1,
    )


def _text(facts: Mapping[str, Scalar], key: str) -> str | None:
    value = facts.get(key)
    return value if isinstance(value, str) and value else None


def _number(facts: Mapping[str, Scalar], key: str) -> int | None:
    value = facts.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    return value


def _alignment(facts: Mapping[str, Scalar]) -> int:
    alignment = _number(facts, "general.alignment") or 32
    if not 0 < alignment <= ALIGNMENT_LIMIT or alignment & (alignment - 1):
        raise BadGGUF(f"alignment {alignment}")
    return alignment


def _format(kind: int) -> str:
    try:
        return _FORMATS[kind]
    except KeyError:
        raise BadGGUF(f"value type {kind} does not exist") from None


def _width(kind: int) -> int:
    return struct.calcsize(_format(kind))


def _check(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise BadGGUF(f"{what} is {value}, at most {limit} is allowed")


def _version_reason(version: int) -> str:
    if version & 0xFFFF == 0:
        return "it is written for big-endian machines"
    return f"format version {version} is not known"
