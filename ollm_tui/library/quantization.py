"""Quantizations by name: how many bits each keeps of a weight."""

import re
from collections.abc import Mapping
from types import MappingProxyType

FULL_BITS: Mapping[str, float] = MappingProxyType(
    {"F32": 32.0, "F16": 16.0, "BF16": 16.1, "FP16": 16.0, "FP8": 8.0, "MXFP4": 4.25, "NVFP4": 4.5}
)
_NAMED = re.compile(r"(IQ|TQ|Q)([1-8])(?:_([A-Z0-9]+))?(?:_([A-Z]+))?", re.IGNORECASE)
_VARIANTS: Mapping[str, float] = MappingProxyType(
    {"XXS": 0.06, "XS": 0.25, "S": 0.5, "NL": 0.5, "0": 0.5, "M": 0.7, "L": 0.8, "XL": 0.85,
     "1": 0.9, "K": 0.56}
)  # fmt: skip
"""Bits above the number in the name, about as llama.cpp's own table of sizes has them."""


def bits_of(quantization: str | None) -> float | None:
    """Give the bits that a weight has in this quantization, about; None for an unknown name.

    Good for an order: of two, the one with more bits answers better.
    """
    if quantization is None:
        return None
    name = quantization.upper().removeprefix("UD-")
    if name in FULL_BITS:
        return FULL_BITS[name]
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    _, digit, first, second = match.groups()
    variant = second or first or ""
    return int(digit) + _VARIANTS.get(variant, 0.5)
