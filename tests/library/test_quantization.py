"""Quantizations as uploaders write them into names."""

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.library.gguf_header import FILE_TYPES
from ollm_tui.library.quantization import bit_class, quality_rank, quantization_of

LLAMA_CPP = [
    kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
    for kind in gguf.LlamaFileType
    if kind.name != "GUESSED"
]
BEST_FIRST = [
    *("F32", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q4_K_M", "Q4_K_S", "IQ4_XS", "Q3_K_L"),
    *("Q3_K_M", "IQ3_M", "Q3_K_S", "IQ3_XXS", "Q2_K", "IQ2_M", "IQ2_XXS", "IQ1_M", "IQ1_S"),
]


@pytest.mark.parametrize("name", LLAMA_CPP)
def test_every_type_of_llama_cpp_is_known(name: str) -> None:
    for text in (f"Model-8B-{name}", f"model.{name.lower()}", f"m_{name}", name):
        assert quantization_of(text) == name
    assert quality_rank(name) < quality_rank(None)


def test_every_type_that_a_header_may_name_is_known() -> None:
    assert [n for n in FILE_TYPES.values() if quality_rank(n) == quality_rank(None)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Qwen3-4B-UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("Qwen3-4B-ud-iq2_xxs", "UD-IQ2_XXS"),
        ("Model.i1-IQ3_XXS", "IQ3_XXS"),
        ("Model.i1-Q4_K_M", "Q4_K_M"),
        ("Llama-F16-tuned-Q5_K_S", "Q5_K_S"),
        ("Llama-3-8B-fp16", "F16"),
        ("model-f32", "F32"),
        ("gpt-oss-20b-mxfp4", "MXFP4"),
        ("Large-Q4_0_4_8", "Q4_0_4_8"),
        ("Large-Q6_K_L", "Q6_K_L"),
        ("Q4_K_M-imat", "Q4_K_M"),
        ("Qwen3-8B", None),
        ("Model-Q4", None),
        ("FAQ4_K_Model", None),
        ("modelq8_0", None),
        ("", None),
    ],
)
def test_names(text: str, found: str | None) -> None:
    assert quantization_of(text) == found


def test_better_ones_come_first() -> None:
    ranks = [quality_rank(name) for name in BEST_FIRST]
    assert ranks == sorted(set(ranks))
    assert quality_rank("UD-Q4_K_XL") < quality_rank("Q4_K_XL") < quality_rank("Q4_K_M")
    assert quality_rank("nonsense") == quality_rank(None)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("Q4_K_M", 4),
        ("iq4_nl", 4),
        ("MXFP4_MOE", 4),
        ("NVFP4", 4),
        ("UD-Q3_K_XL", 3),
        ("Q3_K_L", 3),
        ("TQ1_0", 1),
        ("Q8_K_XL", 8),
        ("FP8", 8),
        ("FP16", 16),
        ("BF16", 16),
        ("F32", 32),
        ("Q4_OF_A_FORK", 4),
        ("odd", None),
        ("", None),
        (None, None),
    ],
)
def test_the_class_is_the_number_in_the_name(name: str | None, bits: int | None) -> None:
    assert bit_class(name) == bits


@given(st.text(max_size=60))
def test_any_name_has_a_known_quantization_or_none(text: str) -> None:
    found = quantization_of(text)
    assert found is None or quality_rank(found) < quality_rank(None)
