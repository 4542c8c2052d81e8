"""GGUF files put together by hand, also such as no writer would make."""

import struct

U32, I32, BOOL, STRING, ARRAY, U64 = 4, 5, 7, 8, 9, 10
KNOWN_NAME = "general.architecture"


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def file_of(*pairs: bytes, tensors: bytes = b"", tensor_count: int = 0, version: int = 3) -> bytes:
    start = b"GGUF" + struct.pack("<IQQ", version, tensor_count, len(pairs) + 1)
    return start + pair(KNOWN_NAME, STRING, text("llama")) + b"".join(pairs) + tensors


def tensor(name: str, dimensions: list[int], kind: int = 0, offset: int = 0) -> bytes:
    shape = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + shape + struct.pack("<IQ", kind, offset)
