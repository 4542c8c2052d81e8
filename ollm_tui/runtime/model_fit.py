"""Whether an installed model fits this machine, from its file or from its server's facts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread

from ollm_tui.decode.json_fields import as_object, positive, strings
from ollm_tui.library.fit import ModelShape
from ollm_tui.library.fitting import cache_of, compute_of, fit_of
from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF
from ollm_tui.library.machine import Machine
from ollm_tui.library.shapes import (
    completed,
    keeps_cache,
    shape_of_header,
    shape_of_size,
    windowed_layers,
)
from ollm_tui.models.checkpoints import IMAGE
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.runtime.details import ModelDetails
from ollm_tui.tokens.limits import ASSUMED_WINDOW

TIMEOUT_S = 2.5
"""Time limit for probing the machine and reading the model's header."""


async def with_fit(
    details: ModelDetails,
    machine: Callable[[], Awaitable[Machine]],
    *,
    known_models: KnownModels,
    owns_path: bool,
) -> ModelDetails:
    """Add whether a model fits, unless the probe takes too long.

    `owns_path`: the path in the details is one of this machine, which the built-in engine runs.
    A model in memory is not judged: what is free is what it has left.
    """
    if not details.info.size_bytes or details.info.loaded:
        return details
    with anyio.move_on_after(TIMEOUT_S):
        hardware = await machine()
        used = hardware.for_engine if owns_path else hardware
        path = details.path if owns_path else None
        # A header on a slow disk is not waited for.
        shape = await to_thread.run_sync(
            _shape, details, path, known_models, abandon_on_cancel=True
        )
        window = details.context.tokens if details.context is not None else ASSUMED_WINDOW
        with_it = strings(details.info.details.get("loaded_with")) if owns_path else []
        beside = await to_thread.run_sync(_memory_of, with_it, window)
        if details.info.details.get("kind") == IMAGE:
            beside += positive(details.info.details, "loaded_with_bytes") or 0
        kv_type = _cache_type(details)
        fit = fit_of(shape, used, context=window, kv_type=kv_type, beside=beside)
        return replace(details, fit=fit)
    return details


def _shape(details: ModelDetails, path: str | None, known_models: KnownModels) -> ModelShape:
    size = max(0, details.info.size_bytes or 0)
    full_every = known_models.full_attention()
    shape = _shape_of_file(Path(path), size, full_every) if path is not None else None
    return shape or reported_shape(details.info, size, full_every)


def _memory_of(paths: Sequence[str], context: int) -> int:
    """Return the bytes that adapters and a draft model need; those that are not read need none."""
    needed = 0
    for path in paths:
        try:
            header = read_header(Path(path))
        except (BadGGUF, OSError):  # loading the model says it
            continue
        needed += header.size_needed
        if header.kind != "adapter":
            shape = completed(shape_of_header(header, header.size_needed))
            needed += cache_of(shape, context) + compute_of(shape, context)
    return needed


def _cache_type(details: ModelDetails) -> str:
    """Return the type of the cache, if the settings of the built-in engine give one for all."""
    types = {row.value for row in details.settings if row.name in ("cache_type_k", "cache_type_v")}
    set_for = [row.name for row in details.settings if row.name.startswith("cache_type_")]
    return types.pop() if len(types) == 1 and len(set_for) == 2 else "f16"


def _shape_of_file(path: Path, size: int, full_every: Mapping[str, int]) -> ModelShape | None:
    try:
        header = read_header(path)
    except (BadGGUF, OSError):  # the list has the reason
        return None
    return shape_of_header(header, size, full_every.get(header.architecture))


def reported_shape(info: ModelInfo, size: int, full_every: Mapping[str, int]) -> ModelShape:
    """Return the shape that a server reports; missing parts are estimated from the size.

    `full_every` tells for each architecture with sliding windows which layers have none.
    """
    shape = as_object(info.details.get("shape"))
    parameters = positive(info.details, "parameter_count")
    kind = info.details.get("family") or info.details.get("kind")
    family = kind if isinstance(kind, str) else None
    if not shape or not keeps_cache(family):
        return shape_of_size(size, parameters=parameters, family=family)
    layers, window = positive(shape, "layers"), positive(shape, "window")
    every = full_every.get(family or "") if window else None
    windowed = windowed_layers(layers or 0, every)
    return ModelShape(
        weights=size,
        layers=layers,
        window=window if windowed else None,
        windowed=windowed,
        kv_heads=positive(shape, "kv_heads"),
        key_length=positive(shape, "key_length"),
        value_length=positive(shape, "value_length"),
        parameters=parameters,
        context_trained=positive(info.details, "context_trained"),
    )
