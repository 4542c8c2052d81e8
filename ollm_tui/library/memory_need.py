"""How much memory a model takes beside its weights, and how much of each kind is free."""

from collections.abc import Mapping
from types import MappingProxyType

from ollm_tui.library.fit import ModelShape
from ollm_tui.library.machine import Machine

BYTES_OF: Mapping[str, float] = MappingProxyType(
    {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
     "q4_1": 20 / 32, "q4_0": 18 / 32, "iq4_nl": 18 / 32}
)  # fmt: skip
"""Bytes of one number in a cache of each type."""
BATCH = 512
"""Tokens that llama.cpp computes at once."""
WINDOW_STEP = 256
ACTIVATIONS = 16
PROCESS = 300_000_000
"""Bytes that the engine takes whatever the model: the program, the vocabulary, and on a graphics
card the driver's context."""
UNREPORTED_FREE = 0.9
"""The part of graphics memory that counts as free where the driver does not say."""


def cache_of(shape: ModelShape, context: int, kv_type: str = "f16") -> int:
    """Give the bytes of the key/value cache; what the shape leaves open counts as nothing.

    Keys and values of every layer for every token; layers with a window keep that and a batch.
    """
    layers, heads = shape.layers or 0, shape.kv_heads or 0
    row = heads * ((shape.key_length or 0) + (shape.value_length or 0))
    sliding = min(shape.windowed, layers) if shape.window else 0
    kept = -(-((shape.window or 0) + BATCH) // WINDOW_STEP) * WINDOW_STEP
    numbers = row * ((layers - sliding) * context + sliding * min(context, kept))
    return int(numbers * BYTES_OF.get(kv_type.lower(), 2.0))


def compute_of(shape: ModelShape, context: int) -> int:
    """Give the bytes of llama.cpp's compute buffer, about.

    It holds, for a batch, a mask of two bytes for each token of the context, which is exact, and
    rows as wide as the embedding: thirteen were measured with SmolLM2 135M at 512 to 8192 tokens
    (14.6 MiB and 1 KiB a token). Sixteen are counted, for wider networks.
    """
    return BATCH * (2 * context + 4 * ACTIVATIONS * (shape.embedding or 4096))


def overhead_of(shape: ModelShape, context: int) -> int:
    """Give the bytes beside weights and cache."""
    return compute_of(shape, context) + PROCESS


def gpu_free(machine: Machine) -> int:
    """Give the free bytes of all graphics processors together: layers are shared out."""
    return sum(
        int(gpu.total * UNREPORTED_FREE) if gpu.free is None else gpu.free for gpu in machine.gpus
    )


def all_free(machine: Machine) -> int:
    """Give the free bytes of the whole machine; memory that is shared counts once."""
    ram = machine.ram_free or 0
    return ram if machine.unified and machine.ram_free is not None else ram + gpu_free(machine)
