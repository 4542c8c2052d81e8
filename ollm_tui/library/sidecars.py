"""The names of what lies beside a model file and belongs to it: a checked sum, a provenance."""

from collections.abc import Iterator
from pathlib import Path

ORIGIN_ENDING = ".origin.json"
ENDINGS = (".sha256", ORIGIN_ENDING)


def sidecars_of(path: Path) -> Iterator[Path]:
    """Give the names of what may lie beside a file."""
    for ending in ENDINGS:
        yield path.with_name(path.name + ending)
