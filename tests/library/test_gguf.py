"""The GGUF header reader: what it tells, and that no bytes can hurt it."""

import random
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.gguf import HEADER_LIMIT, BadGGUF, GGUFHeader, read_header
from tests.support.tiny_gguf import CONTEXT, write_scripted
from tests.support.tiny_template import TEMPLATE

U32, STRING, ARRAY = 4, 8, 9
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


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    write_scripted(path)
    return path.read_bytes()


def read(folder: Path, data: bytes) -> GGUFHeader:
    path = folder / "m.gguf"
    path.write_bytes(data)
    return read_header(path)


def reason(folder: Path, data: bytes) -> str:
    with pytest.raises(BadGGUF) as caught:
        read(folder, data)
    return caught.value.reason


def test_a_model_tells_its_facts(tmp_path: Path, scripted: bytes) -> None:
    header = read(tmp_path, scripted)
    assert header.name == "tiny-scripted"
    assert header.architecture == "llama"
    assert header.quantization == "Q8_0"
    assert header.context_trained == CONTEXT
    assert header.chat_template == TEMPLATE
    assert header.tokenizer == "gpt2"
    assert header.tensors == 12
    assert header.size_needed == len(scripted)


def test_a_long_vocabulary_is_walked_past_its_buffer(tmp_path: Path) -> None:
    words = b"".join(text("w" * (n % 60)) for n in range(90_000))
    array = struct.pack("<IQ", STRING, 90_000) + words
    late = pair("general.name", STRING, text("after it"))
    header = read(tmp_path, file_of(pair("tokens", ARRAY, array), late))
    assert header.name == "after it"


def test_numbers_in_arrays_are_skipped_whole(tmp_path: Path) -> None:
    array = struct.pack("<IQ", U32, 500_000) + bytes(2_000_000)
    late = pair("llama.context_length", U32, struct.pack("<I", 99))
    assert read(tmp_path, file_of(pair("scores", ARRAY, array), late)).context_trained == 99


HUGE = 2**63


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"GG", "does not begin with GGUF"),
        (b"root:x:0:0", "does not begin with GGUF"),
        (b"GGUF", "ends in the middle"),
        (file_of(version=1), "format version 1"),
        (file_of(version=3 << 24), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), f"tensor count is {HUGE}"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), f"number of keys is {HUGE}"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "names no architecture"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", HUGE), "length of a key"),
        (file_of(pair("a", STRING, struct.pack("<Q", HUGE))), f"length of a text of a is {HUGE}"),
        (file_of(pair("a", STRING, struct.pack("<Q", 5000))), "ends in the middle"),
        (file_of(pair("a", ARRAY, struct.pack("<IQ", U32, HUGE))), f"array length of a is {HUGE}"),
        (file_of(pair("a", ARRAY, struct.pack("<IQ", U32, 9))), "ends in the middle"),
        (file_of(pair("a", ARRAY, struct.pack("<IQ", ARRAY, 2))), "array of arrays"),
        (
            file_of(pair("a", ARRAY, struct.pack("<IQQ", STRING, 1, HUGE))),
            f"text length in a is {HUGE}",
        ),
        (file_of(pair("a", 77, b"")), "value type 77"),
        (file_of(pair("a", ARRAY, struct.pack("<IQ", 77, 1))), "value type 77"),
        (file_of(pair("general.alignment", U32, struct.pack("<I", 2**30))), "alignment 1073741824"),
        (file_of(pair("general.alignment", U32, struct.pack("<I", 33))), "alignment 33"),
        (
            file_of(tensors=text("t") + struct.pack("<I", 2**32 - 1), tensor_count=1),
            "number of dimensions is 4294967295",
        ),
        (file_of(tensors=tensor("t", [2**40, 2**40]), tensor_count=1), "dimensions overflow"),
        (file_of(tensors=tensor("t", [64]), tensor_count=1), "cut short"),
        (file_of(tensors=tensor("t", [1], offset=HUGE), tensor_count=1), "cut short"),
    ],
)
def test_a_broken_file_is_refused_for_a_named_reason(
    tmp_path: Path, data: bytes, words: str
) -> None:
    assert words in reason(tmp_path, data)


def test_no_more_than_the_limit_of_a_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    array = struct.pack("<IQ", 10, 1_000_000)  # eight million bytes of numbers
    with path.open("wb") as file:
        file.write(file_of(*[b""] * 9))
        for n in range(9):
            file.write(pair(f"k{n}", ARRAY, array))
            file.seek(8_000_000, 1)
        file.truncate(HEADER_LIMIT * 3)
    tracemalloc.start()
    try:
        with pytest.raises(BadGGUF, match="header is longer"):
            read_header(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < HEADER_LIMIT


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path, scripted: bytes) -> None:
    path = tmp_path / "m.gguf"
    for size in range(4096, -1, -1):
        path.write_bytes(scripted[:size])
        with pytest.raises(BadGGUF):
            read_header(path)


def header_end(scripted: bytes) -> int:
    """Where the tensor list of the scripted model ends, to the nearest kilobyte below."""
    return scripted.index(b"blk.0.ffn_down.weight") + 100


def test_thousands_of_mutated_headers_crash_and_hang_nothing(
    tmp_path: Path, scripted: bytes
) -> None:
    chance = random.Random(11)
    end = header_end(scripted)
    path = tmp_path / "m.gguf"
    slowest = 0.0
    refused = 0
    for _ in range(3000):
        data = bytearray(scripted[:end])
        for _ in range(chance.randint(1, 6)):
            mutate(data, chance)
        path.write_bytes(data + scripted[end:])
        started = time.perf_counter()
        try:
            read_header(path)
        except BadGGUF:
            refused += 1
        slowest = max(slowest, time.perf_counter() - started)
    assert refused > 1000
    assert slowest < 1


def mutate(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data) - 8)
    match chance.randrange(4):
        case 0:
            data[at] = chance.randrange(256)
        case 1:
            data[at : at + 8] = struct.pack(
                "<Q", chance.choice([0, 1, 2**31, 2**32, 2**63, 2**64 - 1])
            )
        case 2:
            data[at : at + 4] = chance.randbytes(4)
        case _:
            del data[at : at + chance.randrange(1, 16)]


@settings(max_examples=200)
@given(st.binary(max_size=400))
def test_any_bytes_after_the_magic_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<I", 3) + tail)
    with suppress(BadGGUF):
        assert read_header(path).architecture
