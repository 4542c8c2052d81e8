"""The built-in list of models: `models.json`, with the page that each fact is from.

It is written by hand, from what the publishers' pages say. Sizes are about those of published
files, without a vision model's picture encoder; skills are coarse and rest on `skills_from`.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ollm_tui.library.registry.entry import RegistryEntry


@dataclass(frozen=True, slots=True)
class CuratedList:
    """The list as it was on a day."""

    date: str
    """ISO 8601."""
    entries: tuple[RegistryEntry, ...]


def load_curated() -> CuratedList:
    """Read the list; it takes about a millisecond, and is read when it is first needed."""
    text = files(__package__).joinpath("models.json").read_text("utf-8")
    listed = json.loads(text)
    return CuratedList(listed["date"], tuple(_entry(one) for one in listed["models"]))


def _entry(told: dict[str, Any]) -> RegistryEntry:
    facts = {key: value for key, value in told.items() if key != "skills_from"}
    facts["purposes"] = frozenset(told["purposes"])
    facts["sources"] = tuple(told["sources"])
    return RegistryEntry(**facts)
