"""Numbers of the GGUF format and what they stand for."""

from collections.abc import Mapping
from types import MappingProxyType

SUFFIX = ".gguf"
"""Ends the names of such files, in any case of letters."""
MAGIC = b"GGUF"
VERSIONS = (2, 3)
STRING, ARRAY = 8, 9

FORMATS: Mapping[int, str] = MappingProxyType({
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
})  # fmt: skip
"""How a single value of each type is packed."""
BLOCKS: Mapping[int, tuple[int, int]] = MappingProxyType({
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
})  # fmt: skip
"""Values in a block and bytes of a block, for the tensor types whose layout is settled."""
FILE_TYPES: Mapping[int, str] = MappingProxyType({
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
    30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
})  # fmt: skip
"""What `general.file_type` says: the quantization of most of the tensors."""
