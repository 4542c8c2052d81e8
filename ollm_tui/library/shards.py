"""The name rule of models in several files: `name-00001-of-00003.gguf`."""

import re
from collections.abc import Collection
from dataclasses import dataclass

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


def problem_of(parts: Collection[int], count: int) -> str | None:
    """Tell why these parts are no whole model; None when they are."""
    if len(parts) == count and all(part in parts for part in range(1, count + 1)):
        return None
    absent = next((part for part in range(1, count + 1) if part not in parts), None)
    return f"part {absent} of {count} is missing" if absent else "its parts do not fit together"
