"""The shape of a model's memory: read off its header, or guessed from its size."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ollm_tui.library.fit import ModelShape
from ollm_tui.library.gguf_header import LAYER_LIMIT, GGUFHeader
from ollm_tui.library.traits import kind_of

BYTES_A_PARAMETER = 0.6
"""Of the usual quantizations, Q4_K_M and near it."""
WINDOWED_OF: Mapping[str, int] = MappingProxyType(
    {
        "gemma2": 2,
        "gemma3": 6,
        "gemma3n": 5,
        "gpt-oss": 2,
        "gptoss": 2,
        "cohere2": 4,
        "exaone4": 4,
        "olmo2": 4,
    }
)
"""Architectures in which every n-th layer sees everything and the others a window, where the file
does not say so itself; as llama.cpp has it in its code."""
_WITHOUT_CACHE = re.compile(
    r"bert|whisper|t5encoder|gemma-?embedding|embeddinggemma|^(?:bge|mxbai-embed|nomic-embed)",
    re.IGNORECASE,
)
"""Families and architectures that read all at once and keep nothing between two tokens."""
_TYPICAL: tuple[tuple[float, int, int, int, int], ...] = (
    (0.5e9, 32, 5, 64, 960),
    (2.5e9, 28, 8, 128, 2048),
    (5e9, 36, 8, 128, 2560),
    (10e9, 36, 8, 128, 4096),
    (18e9, 48, 8, 128, 5120),
    (45e9, 64, 8, 128, 5120),
    (float("inf"), 80, 8, 128, 8192),
)
"""Up to how many parameters, and the layers, key/value heads, head length and embedding length of
widespread models of that size: SmolLM2, Qwen3, Llama 3.1."""


def shape_of_header(header: GGUFHeader, size: int) -> ModelShape:
    """Give the shape of a model file; `size` is that of all its parts, in bytes.

    What the header leaves out stays None, and `fit_of` fills it in as an estimate.
    """
    if not keeps_cache(header.architecture) or kind_of(header) is not None:
        return _without_cache(shape_of_size(size, parameters=header.parameters or None))
    layers, heads = header.block_count, header.head_count
    head_length = header.embedding_length // heads if header.embedding_length and heads else None
    is_compressed = header.key_length_mla is not None
    value_length = 0 if is_compressed else header.value_length or head_length
    window, windowed = header.sliding_window or None, None
    if window is not None and layers is not None and layers <= LAYER_LIMIT:
        windowed = _windowed_layers(header, layers)
    return ModelShape(
        weights=size,
        layers=layers,
        kv_heads=_kv_heads(header),
        key_length=header.key_length or head_length,
        value_length=value_length,
        embedding=header.embedding_length,
        context_trained=header.context_trained,
        parameters=header.parameters if header.shards == 1 else None,
        window=window if windowed else None,
        windowed=windowed or 0,
    )


def keeps_cache(family: str | None) -> bool:
    """Whether models of a family keep keys and values; unknown ones do."""
    return family is None or _WITHOUT_CACHE.search(family) is None


def _without_cache(shape: ModelShape) -> ModelShape:
    return replace(shape, kv_heads=0, key_length=0, value_length=0)


def shape_of_size(
    size: int, *, parameters: int | None = None, family: str | None = None
) -> ModelShape:
    """Guess the shape of a model of which only the size in bytes is known, and perhaps its kind."""
    if not keeps_cache(family):
        return _without_cache(shape_of_size(size, parameters=parameters))
    count = parameters or int(size / BYTES_A_PARAMETER)
    _, layers, kv_heads, head_length, embedding = next(row for row in _TYPICAL if count <= row[0])
    return ModelShape(
        weights=size,
        layers=layers,
        kv_heads=kv_heads,
        key_length=head_length,
        value_length=head_length,
        embedding=embedding,
        parameters=parameters,
        is_guess=True,
    )


def completed(shape: ModelShape) -> ModelShape:
    """Fill in what is not known from what is usual for the size; a complete one stays itself."""
    known = (shape.layers, shape.kv_heads, shape.key_length, shape.value_length)
    if all(value is not None for value in known):
        return shape
    usual = shape_of_size(shape.weights, parameters=shape.parameters)
    return ModelShape(
        weights=shape.weights,
        layers=shape.layers or usual.layers,
        kv_heads=usual.kv_heads if shape.kv_heads is None else shape.kv_heads,
        key_length=shape.key_length or usual.key_length,
        value_length=usual.value_length if shape.value_length is None else shape.value_length,
        embedding=shape.embedding or usual.embedding,
        context_trained=shape.context_trained,
        parameters=shape.parameters,
        is_guess=True,
    )


def windowed_layers(family: str | None, layers: int) -> int:
    """Count the layers with a window in a model of which only the family is known."""
    every = WINDOWED_OF.get(family or "")
    return layers - layers // every if every else 0


def _kv_heads(header: GGUFHeader) -> int | None:
    """Give the mean of all layers, rounded up; layers without a cache count as none."""
    of_layers = header.head_count_kv
    if not of_layers:
        return header.head_count
    if len(of_layers) > 1:
        return -(-sum(of_layers) // len(of_layers))
    interval = header.full_attention_interval or 1
    return -(-of_layers[0] // interval)


def _windowed_layers(header: GGUFHeader, layers: int) -> int:
    """Count the layers with a window: as the file says, else as is known of its architecture."""
    pattern = header.sliding_pattern
    if len(pattern) > 1:  # for each layer, or for a few that are repeated
        return sum(1 for layer in range(layers) if pattern[layer % len(pattern)])
    every = pattern[0] if pattern else WINDOWED_OF.get(header.architecture, 1)
    return layers - layers // every if every else layers
