"""Quantizations: finding one in a name, bits per weight, and the order of quality.

Bits per weight are those that llama.cpp's `quantize` reports for whole 8B models, or those of the
blocks for types that it does not list; a file's own size is more exact.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

_BITS: Mapping[str, float] = MappingProxyType(
    {
        "F32": 32.0,
        "BF16": 16.0,
        "F16": 16.0,
        "Q8_K_XL": 10.2,
        "Q8_1": 9.0,
        "Q8_0": 8.5,
        "FP8": 8.0,
        "Q6_K_XL": 7.2,
        "Q6_K_L": 6.7,
        "Q6_K": 6.56,
        "Q5_K_XL": 5.8,
        "Q5_K_L": 5.8,
        "Q5_K_M": 5.7,
        "Q5_K": 5.7,
        "Q5_1": 6.0,
        "Q5_K_S": 5.57,
        "Q5_0": 5.5,
        "Q4_K_XL": 5.0,
        "Q4_K_L": 5.0,
        "Q4_K_M": 4.89,
        "Q4_K": 4.89,
        "Q4_1": 5.1,
        "Q4_K_S": 4.67,
        "IQ4_NL": 4.68,
        "Q4_0": 4.64,
        "Q4_0_4_4": 4.64,
        "Q4_0_4_8": 4.64,
        "Q4_0_8_8": 4.64,
        "NVFP4": 4.5,
        "MXFP4_MOE": 4.25,
        "MXFP4": 4.25,
        "IQ4_XS": 4.46,
        "Q3_K_XL": 4.4,
        "Q3_K_L": 4.3,
        "Q3_K_M": 4.0,
        "Q3_K": 4.0,
        "IQ3_M": 3.76,
        "IQ3_S": 3.66,
        "Q3_K_S": 3.64,
        "IQ3_XS": 3.5,
        "IQ3_XXS": 3.25,
        "Q2_K_XL": 3.3,
        "Q2_K_L": 3.3,
        "Q2_K": 3.16,
        "IQ2_M": 2.93,
        "Q2_K_S": 2.97,
        "IQ2_S": 2.74,
        "IQ2_XS": 2.59,
        "IQ2_XXS": 2.38,
        "IQ1_M": 2.15,
        "TQ2_0": 2.06,
        "IQ1_S": 2.0,
        "TQ1_0": 1.69,
        "Q1_0": 1.13,
    }
)
"""The best quality first."""
_RANKS: Mapping[str, int] = MappingProxyType({name: rank for rank, name in enumerate(_BITS)})
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {"FP32": "F32", "FP16": "F16", "FLOAT16": "F16", "FLOAT32": "F32"}
)
_CLASS = re.compile(r"(?:IQ|TQ|Q|MXFP|NVFP|FP|BF|F)([0-9]{1,2})(?:_.*)?", re.DOTALL)
DYNAMIC = "UD-"
"""The prefix of dynamic quantizations, in which layers have different types."""
_LONGEST_FIRST = sorted((*_BITS, *_OTHER_NAMES), key=len, reverse=True)
_NAME = re.compile(
    rf"(?<![A-Za-z0-9])(UD[-_])?({'|'.join(_LONGEST_FIRST)})(?![A-Za-z0-9])", re.IGNORECASE
)


def quantization_of(text: str) -> str | None:
    """Return the quantization in a name without suffix: `Q4_K_M`, `UD-IQ2_XXS`, `BF16`, ...

    The last match counts, because the model's name may contain another.
    """
    names = _NAME.findall(text)
    if not names:
        return None
    dynamic, name = names[-1]
    return (DYNAMIC if dynamic else "") + _plain(name)


def bits_per_weight(quantization: str) -> float | None:
    """Return the approximate bits per weight; None for an unknown name."""
    return _BITS.get(_plain(quantization))


def bit_class(quantization: str | None) -> int | None:
    """Return the bits in a name: 4 for `Q4_K_S`, `IQ4_XS` and `MXFP4`.

    The mean over a file differs: a `Q3_K_L` has more than four bits per weight, and the quality of
    three.
    """
    match = _CLASS.fullmatch(_plain(quantization)) if quantization is not None else None
    return int(match[1]) if match else None


def quality_rank(quantization: str | None) -> int:
    """Return the place in the order of quality, the best at 0; unknown ones come last."""
    if quantization is None:
        return 2 * len(_RANKS)
    rank = _RANKS.get(_plain(quantization))
    if rank is None:
        return 2 * len(_RANKS)
    # A dynamic one is slightly better than the plain one.
    return 2 * rank + (0 if quantization.upper().startswith(DYNAMIC) else 1)


def _plain(quantization: str) -> str:
    name = quantization.upper().removeprefix(DYNAMIC)
    return _OTHER_NAMES.get(name, name)
