"""What the names of model files say: their kind, their parts, and what lies beside them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".gguf"
"""Ends the names of such files, in any case of letters."""


def is_gguf(path: Path) -> bool:
    """Whether a file's name says that a model of llama.cpp is in it."""
    return path.name.lower().endswith(SUFFIX)


def model_name(path: Path) -> str:
    """Give the name of the model that a file holds, or that it is a part of."""
    stem = path.name[: -len(SUFFIX)] if is_gguf(path) else path.name
    shard = shard_of(stem)
    return shard.name if shard else stem


_SHARD = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shard:
    """What the name of one part says."""

    name: str
    """That of the model."""
    part: int
    """From 1, if the name is as it should be."""
    count: int


def shard_of(stem: str) -> Shard | None:
    """Read a file's name without its suffix; None when the file stands for itself."""
    match = _SHARD.fullmatch(stem)
    return Shard(match[1], int(match[2]), int(match[3])) if match else None


def part_stem(shard: Shard, part: int) -> str:
    """Give the name without suffix that another part of the same model has."""
    return f"{shard.name}-{part:05}-of-{shard.count:05}"


def problem_of_parts(parts: Collection[int], count: int) -> str | None:
    """Tell why these parts are no whole model; None when they are."""
    if len(parts) == count and all(part in parts for part in range(1, count + 1)):
        return None
    absent = next((part for part in range(1, count + 1) if part not in parts), None)
    return f"part {absent} of {count} is missing" if absent else "its parts do not fit together"


ORIGIN_ENDING = ".origin.json"
ENDINGS = (".sha256", ORIGIN_ENDING)


def sidecars_of(path: Path) -> Iterator[Path]:
    """Give the names of what may lie beside a file."""
    for ending in ENDINGS:
        yield path.with_name(path.name + ending)
