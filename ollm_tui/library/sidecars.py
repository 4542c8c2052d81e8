"""What lies beside a model file and belongs to it: a checked sum, and where it was fetched."""

import json
from collections.abc import Iterator
from pathlib import Path

from ollm_tui.protocol.json_types import JsonObject

ORIGIN_ENDING = ".origin.json"
ENDINGS = (".sha256", ORIGIN_ENDING)
ORIGIN_LIMIT = 64 * 1024
_ORIGIN_KEYS = {"place": "fetched_from", "revision": "revision", "licence": "licence"}


def sidecars_of(path: Path) -> Iterator[Path]:
    """Give the names of what may lie beside a file."""
    for ending in ENDINGS:
        yield path.with_name(path.name + ending)


def origin_of(path: Path) -> JsonObject:
    """Give where a file was fetched and under which licence, where that is noted; not cleaned."""
    try:
        with path.with_name(path.name + ORIGIN_ENDING).open("rb") as file:
            said = json.loads(file.read(ORIGIN_LIMIT))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    texts = {name: said.get(key) for key, name in _ORIGIN_KEYS.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}
