"""The GGUF header reader: what it tells, and why it refuses a file."""

import struct
from pathlib import Path

import pytest

from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF, GGUFHeader
from tests.library.gguf_bytes import ARRAY, BOOL, I32, STRING, U32, U64, file_of, pair, tensor, text
from tests.support.tiny_gguf import CONTEXT, TEMPLATE


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
    assert header.block_count == 1
    assert header.head_count_kv == (1,)
    assert header.embedding_length is not None


def numbers(key: str, *values: int) -> bytes:
    packed = struct.pack(f"<{len(values)}i", *values)
    return pair(key, ARRAY, struct.pack("<IQ", I32, len(values)) + packed)


def test_a_header_tells_what_the_memory_depends_on(tmp_path: Path) -> None:
    data = file_of(
        pair("llama.block_count", U32, struct.pack("<I", 4)),
        pair("llama.attention.head_count", U32, struct.pack("<I", 32)),
        numbers("llama.attention.head_count_kv", 8, 0, 0, 8),
        pair("llama.attention.key_length", U64, struct.pack("<Q", 128)),
        pair("llama.attention.value_length", U32, struct.pack("<I", 64)),
        pair("llama.attention.sliding_window", U32, struct.pack("<I", 1024)),
        pair(
            "llama.attention.sliding_window_pattern",
            ARRAY,
            struct.pack("<IQ", BOOL, 4) + b"\1\1\0\1",
        ),
        pair("general.license", STRING, text("apache-2.0")),
        pair("general.size_label", STRING, text("8B")),
        pair("general.type", STRING, text("model")),
        pair("general.base_model.0.name", STRING, text("Base")),
        pair("tokenizer.ggml.pre", STRING, text("llama-bpe")),
    )
    header = read(tmp_path, data)
    assert (header.block_count, header.head_count) == (4, 32)
    assert header.head_count_kv == (8, 0, 0, 8)
    assert (header.key_length, header.value_length) == (128, 64)
    assert (header.sliding_window, header.sliding_pattern) == (1024, (1, 1, 0, 1))
    assert (header.licence, header.size_label, header.kind) == ("apache-2.0", "8B", "model")
    assert (header.base_model, header.tokenizer_kind) == ("Base", "llama-bpe")


@pytest.mark.parametrize(
    ("kind", "packed"),
    [
        (STRING, text("many")),
        (BOOL, b"\1"),
        (6, struct.pack("<f", 8.0)),
        (I32, struct.pack("<i", -8)),
        (ARRAY, struct.pack("<IQ", I32, 0)),
        (ARRAY, struct.pack("<IQi", I32, 1, -1)),
        (ARRAY, struct.pack("<IQ", STRING, 1) + text("many")),
        (ARRAY, struct.pack("<IQ", U32, 2000) + bytes(8000)),
    ],
)
def test_a_number_of_the_wrong_kind_counts_as_not_reported(
    tmp_path: Path, kind: int, packed: bytes
) -> None:
    header = read(tmp_path, file_of(pair("llama.attention.head_count_kv", kind, packed)))
    assert header.head_count_kv == ()


def test_facts_of_another_architecture_are_not_taken(tmp_path: Path) -> None:
    other = pair("bert.block_count", U32, struct.pack("<I", 4))
    assert read(tmp_path, file_of(other)).block_count is None


def test_a_text_too_long_for_a_fact_counts_as_not_reported(tmp_path: Path) -> None:
    data = file_of(
        pair("general.name", STRING, text("n" * 5000)),
        pair("general.license", STRING, text("mit")),
    )
    header = read(tmp_path, data)
    assert (header.name, header.licence) == (None, "mit")


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
