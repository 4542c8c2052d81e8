"""Quantizations: finding one in a name, its class of bits, and the order of quality."""

import re
from collections.abc import Mapping

from ollm_tui.lazy import lazy_re

_BEST_FIRST = (
    "F32", "BF16", "F16", "Q8_K_XL", "Q8_1", "Q8_0", "FP8", "Q6_K_XL", "Q6_K_L", "Q6_K",
    "Q5_K_XL", "Q5_K_L", "Q5_K_M", "Q5_K", "Q5_1", "Q5_K_S", "Q5_0", "Q4_K_XL", "Q4_K_L",
    "Q4_K_M", "Q4_K", "Q4_1", "Q4_K_S", "IQ4_NL", "Q4_0", "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8",
    "NVFP4", "MXFP4_MOE", "MXFP4", "IQ4_XS", "Q3_K_XL", "Q3_K_L", "Q3_K_M", "Q3_K", "IQ3_M",
    "IQ3_S", "Q3_K_S", "IQ3_XS", "IQ3_XXS", "Q2_K_XL", "Q2_K_L", "Q2_K", "IQ2_M", "Q2_K_S",
    "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "TQ2_0", "IQ1_S", "TQ1_0", "Q1_0"
)  # fmt: skip
"""The names, the best quality first: by the mean of bits that `quantize` reports for 8B models."""
_RANKS: Mapping[str, int] = {name: rank for rank, name in enumerate(_BEST_FIRST)}
_OTHER_NAMES: Mapping[str, str] = {"FP32": "F32", "FP16": "F16", "FLOAT16": "F16", "FLOAT32": "F32"}
_CLASS = lazy_re(r"(?:IQ|TQ|Q|MXFP|NVFP|FP|BF|F)([0-9]{1,2})(?:_.*)?", re.DOTALL)
DYNAMIC = "UD-"
"""The prefix of dynamic quantizations, in which layers have different types."""
_LONGEST_FIRST = sorted((*_BEST_FIRST, *_OTHER_NAMES), key=len, reverse=True)
_NAME = lazy_re(
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


def bit_class(quantization: str | None) -> int | None:
    """Return the bits in a name: 4 for `Q4_K_S`, `IQ4_XS` and `MXFP4`.

    The mean over a file differs: a `Q3_K_L` has more than four bits per weight, and the quality of
    three.
    """
    match = _CLASS.fullmatch(_plain(quantization)) if quantization is not None else None
    return int(match[1]) if match else None


def quality_rank(quantization: str | None) -> int:
    """Return the place in the order of quality, the best at 0; unknown ones come last."""
    rank = None if quantization is None else _RANKS.get(_plain(quantization))
    if rank is None or quantization is None:
        return 2 * len(_RANKS)
    # A dynamic one is slightly better than the plain one.
    return 2 * rank + (0 if quantization.upper().startswith(DYNAMIC) else 1)


def _plain(quantization: str) -> str:
    name = quantization.upper().removeprefix(DYNAMIC)
    return _OTHER_NAMES.get(name, name)
