"""That no bytes can hurt the reader of GGUF headers: each takes under 100 ms and 64 MB.

Time is that of the processor and not of the clock, so that a busy machine changes nothing. A slow
processor has as long as it takes for a few plain loops.
"""

import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.gguf import HEADER_LIMIT, read_header
from ollm_tui.library.gguf_header import BadGGUF
from tests.library.gguf_bytes import ARRAY, STRING, U32, U64, file_of, pair, tensor, text
from tests.support.seeds import in_parts

CPU_S = 0.1
LOOPS = 6
MEMORY = 64 * 1024 * 1024


def refusal(path: Path) -> str | None:
    """Read a header, and give why it was refused."""
    try:
        read_header(path)
    except BadGGUF as bad:
        return bad.reason
    return None


def cpu_of(path: Path) -> float:
    """Give the seconds of one reading, the better of two when the first is near the limit."""
    best = float("inf")
    for _ in range(2):
        started = time.thread_time()
        refusal(path)
        best = min(best, time.thread_time() - started)
        if best < CPU_S / 2:
            break
    return best


def loop_s() -> float:
    """Give the seconds of a plain loop of a million rounds, about 0.03 on a common processor."""
    started, total = time.thread_time(), 0
    for number in range(1_000_000):
        total += number
    return time.thread_time() - started


def is_quick(path: Path) -> bool:
    cost = cpu_of(path)
    return cost < CPU_S or cost < LOOPS * loop_s()


def memory_of(path: Path) -> int:
    """Give the most bytes that one reading holds."""
    tracemalloc.start()
    try:
        refusal(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def texts(count: int, *items: bytes) -> bytes:
    """Give an array of texts, the items over and over."""
    each = b"".join(text(item) for item in items)
    packed = each * (count // len(items))
    return pair("t", ARRAY, struct.pack("<IQ", STRING, count) + packed)


def many(count: int, make: Callable[[int], bytes]) -> bytes:
    return file_of(*(make(n) for n in range(count)))


def kept_number(n: int) -> bytes:
    return pair(f"k{n}.block_count", U32, bytes(4))


def kept_array(n: int) -> bytes:
    name = f"k{n}.attention.head_count_kv"
    return pair(name, ARRAY, struct.pack("<IQ", U64, 1024) + bytes(8192))


def template(_: int) -> bytes:
    return pair("tokenizer.chat_template", STRING, text(b"\xff" * 1024 * 1024))


BIGGEST = {
    "a vocabulary of empty texts": lambda: file_of(texts(900_000, b"")),
    "the largest vocabulary": lambda: file_of(texts(990_000, b"w" * 24)),
    "longer texts": lambda: file_of(texts(500_000, b"w" * 50)),
    "texts as long as a row may hold": lambda: file_of(texts(120_000, b"w" * 255)),
    "a long text in every row": lambda: file_of(texts(160_000, *[b""] * 31, b"w" * 256)),
    "more texts than allowed": lambda: file_of(texts(1_000_000, b""), texts(1_000_000, b"")),
    "as many tensors as allowed": lambda: file_of(
        tensors=tensor("t" * 64, [1] * 8) * 12_000, tensor_count=12_000
    ),
    "more tensors than allowed": lambda: file_of(
        tensors=tensor("t", [1]) * 20_000, tensor_count=20_000
    ),
    "as many keys as allowed": lambda: many(16_000, kept_number),
    "arrays that are kept": lambda: many(2000, kept_array),
    "templates that are no text": lambda: many(15, template),
    "long keys": lambda: many(500, lambda _: pair("k" * 65_000, U32, bytes(4))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BIGGEST))
def test_the_most_that_a_header_may_hold_stays_within_time_and_memory(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(BIGGEST[name]())
    assert is_quick(path)
    assert memory_of(path) < MEMORY


def test_the_largest_vocabulary_in_use_is_read(tmp_path: Path) -> None:
    # That of Gemma: 262,144 tokens and some 515,000 merges.
    path = tmp_path / "m.gguf"
    path.write_bytes(file_of(texts(262_144, b"tokens"), texts(515_000, b"mer ges")))
    assert refusal(path) is None


def test_every_text_is_passed_whatever_its_length(tmp_path: Path) -> None:
    chance = random.Random(5)
    lengths = [chance.choice((0, 1, 7, 80, 255, 256, 300)) for _ in range(5000)]
    words = [text(chance.randbytes(length)) for length in lengths]
    path = tmp_path / "m.gguf"
    for count in (5000, 4999, 33, 32, 31):
        packed = b"".join(words[:count])
        array = pair("t", ARRAY, struct.pack("<IQ", STRING, count) + packed)
        path.write_bytes(file_of(array, pair("general.name", STRING, text("after it"))))
        assert read_header(path).name == "after it"


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


@in_parts(4)
def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path, scripted: bytes, part: int) -> None:
    path = tmp_path / "m.gguf"
    for size in range(4096 - part, -1, -4):
        path.write_bytes(scripted[:size])
        assert refusal(path) is not None
        assert is_quick(path)


def header_end(scripted: bytes) -> int:
    """Where the tensor list of the scripted model ends, to the nearest kilobyte below."""
    return scripted.index(b"blk.0.ffn_down.weight") + 100


def read_mutated(folder: Path, scripted: bytes, *, count: int, seed: int) -> int:
    """Read so many damaged headers, each within time and memory; give how many were refused."""
    chance = random.Random(seed)
    end = header_end(scripted)
    path = folder / "m.gguf"
    refused = 0
    for _ in range(count):
        data = bytearray(scripted[:end])
        for _ in range(chance.randint(1, 6)):
            mutate(data, chance)
        path.write_bytes(data + scripted[end:])
        refused += refusal(path) is not None
        assert is_quick(path)
    return refused


@in_parts(3)
def test_thousands_of_mutated_headers_crash_and_hang_nothing(
    tmp_path: Path, scripted: bytes, part: int
) -> None:
    assert read_mutated(tmp_path, scripted, count=1000, seed=11 + 100 * part) > 333


@pytest.mark.long
def test_twenty_thousand_mutated_headers_crash_and_hang_nothing(
    tmp_path: Path, scripted: bytes
) -> None:
    tracemalloc.start()
    try:
        assert read_mutated(tmp_path, scripted, count=20_000, seed=12) > 6000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY


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
