"""The shape of a model's memory: from its header, or estimated from its size."""

from dataclasses import replace

from ollm_tui.library.fit import ModelShape
from ollm_tui.library.gguf_header import LAYER_LIMIT, GGUFHeader
from ollm_tui.library.traits import kind_of
from ollm_tui.models.kinds import kind_table

BYTES_PER_PARAMETER = 0.6
"""For the usual quantizations, Q4_K_M and similar."""
_TYPICAL: tuple[tuple[float, int, int, int, int], ...] = (
    (0.5e9, 32, 5, 64, 960),
    (2.5e9, 28, 8, 128, 2048),
    (5e9, 36, 8, 128, 2560),
    (10e9, 36, 8, 128, 4096),
    (18e9, 48, 8, 128, 5120),
    (45e9, 64, 8, 128, 5120),
    (float("inf"), 80, 8, 128, 8192),
)
"""Most parameters, and layers, key/value heads, head length and embedding length of widespread
models up to that size: SmolLM2, Qwen3, Llama 3.1."""


def shape_of_header(header: GGUFHeader, size: int, full_every: int | None = None) -> ModelShape:
    """Return the shape of a model file; `size` is that of all its parts, in bytes.

    Missing values stay None, and are estimated by `fit_of`. If the file does not say which layers
    have a window, every `full_every`-th has none; without it all have none.
    """
    if not keeps_cache(header.architecture) or kind_of(header) is not None:
        return _without_cache(shape_of_size(size, parameters=header.parameters or None))
    layers, heads = header.block_count, header.head_count
    head_length = header.embedding_length // heads if header.embedding_length and heads else None
    is_compressed = header.key_length_mla is not None
    window, windowed = header.sliding_window, 0
    if window and layers and layers <= LAYER_LIMIT:
        windowed = _windowed_layers(header, layers, full_every)
    return ModelShape(
        weights=size,
        layers=layers,
        kv_heads=_kv_heads(header),
        key_length=header.key_length or head_length,
        value_length=0 if is_compressed else header.value_length or head_length,
        embedding=header.embedding_length,
        context_trained=header.context_trained,
        parameters=header.parameters if header.shards == 1 else None,
        window=window if windowed else None,
        windowed=windowed,
    )


def keeps_cache(family: str | None) -> bool:
    """Whether models of a family have a key/value cache; unknown ones do."""
    return family is None or kind_table().without_cache.search(family) is None


def _without_cache(shape: ModelShape) -> ModelShape:
    return replace(shape, kv_heads=0, key_length=0, value_length=0)


def shape_of_size(
    size: int, *, parameters: int | None = None, family: str | None = None
) -> ModelShape:
    """Estimate a shape from the size in bytes, and parameters and family if known."""
    if not keeps_cache(family):
        return _without_cache(shape_of_size(size, parameters=parameters))
    count = parameters or int(size / BYTES_PER_PARAMETER)
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
    """Fill in missing dimensions with those usual for the size; a complete shape is unchanged."""
    known = (shape.layers, shape.kv_heads, shape.key_length, shape.value_length)
    if all(value is not None for value in known):
        return shape
    usual = shape_of_size(shape.weights, parameters=shape.parameters)
    return replace(
        usual,
        layers=shape.layers or usual.layers,
        kv_heads=usual.kv_heads if shape.kv_heads is None else shape.kv_heads,
        key_length=shape.key_length or usual.key_length,
        value_length=usual.value_length if shape.value_length is None else shape.value_length,
        embedding=shape.embedding or usual.embedding,
        context_trained=shape.context_trained,
    )


def windowed_layers(layers: int, full_every: int | None) -> int:
    """Return the number of layers with a window where every n-th has none."""
    return layers - layers // full_every if full_every else 0


def _kv_heads(header: GGUFHeader) -> int | None:
    """Return the mean over all layers, rounded up; layers without a cache count as 0."""
    of_layers = header.head_count_kv
    if not of_layers:
        return header.head_count
    if len(of_layers) > 1:
        return -(-sum(of_layers) // len(of_layers))
    interval = header.full_attention_interval or 1
    return -(-of_layers[0] // interval)


def _windowed_layers(header: GGUFHeader, layers: int, full_every: int | None) -> int:
    """Return the number of layers with a window: from the file, else as is known of its family."""
    pattern = header.sliding_pattern
    if len(pattern) > 1:  # one flag per layer, or a shorter pattern that repeats
        return sum(1 for layer in range(layers) if pattern[layer % len(pattern)])
    if not pattern:
        return windowed_layers(layers, full_every)
    return layers - layers // pattern[0] if pattern[0] else layers
