"""The sources of the registry: the built-in list, the hub, the engines, the user.

The built-in list, `models.json`, is written by hand from the publishers' pages and names the page
of each fact. Sizes are approximate and leave out a vision model's encoder; skills are coarse and
rest on `skills_from`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.model import ModelInfo, ModelRef


@dataclass(frozen=True, slots=True)
class HubFacts:
    """A hub's facts about a repository, and their time in seconds since 1970."""

    model: HubModel
    at: float


@dataclass(frozen=True, slots=True)
class Rating:
    """The user's rating of a model, 1 to 5, and when it was given."""

    stars: int
    at: float


@dataclass(frozen=True, slots=True)
class Use:
    """The number of chats with a model, and when the last one began."""

    count: int
    last_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecords:
    """The user's ratings and uses of models."""

    ratings: Mapping[str, Rating] = field(default_factory=dict)
    """By the id of the rated entry."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """By address: `provider://model`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySources:
    """Everything that entries are merged from."""

    curated: Sequence[RegistryEntry] = ()
    hub: Iterable[HubFacts] = ()
    installed: Iterable[tuple[ModelRef, ModelInfo]] = ()
    opinions: UserRecords = field(default_factory=UserRecords)


def newest(facts: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Return the newest facts of each repository, by its name in lower case.

    The result does not depend on order or repetition.
    """
    kept: dict[str, HubFacts] = {}
    for fact in facts:
        key = fact.model.repo.casefold()
        known = kept.get(key)
        if known is None or _recency(fact) > _recency(known):
            kept[key] = fact
    return kept


def _recency(fact: HubFacts) -> tuple[float, str]:
    return fact.at, repr(fact.model)  # facts of the same moment: any rule, as long as it is stable


@dataclass(frozen=True, slots=True)
class CuratedList:
    """The built-in list."""

    date: str
    """ISO 8601."""
    entries: tuple[RegistryEntry, ...]


def load_curated() -> CuratedList:
    """Read the built-in list; takes about a millisecond."""
    text = files(__package__).joinpath("models.json").read_text("utf-8")
    listed = json.loads(text)
    return CuratedList(listed["date"], tuple(_entry(one) for one in listed["models"]))


def _entry(record: dict[str, Any]) -> RegistryEntry:
    facts = {key: value for key, value in record.items() if key != "skills_from"}
    facts["purposes"] = frozenset(record["purposes"])
    facts["sources"] = tuple(record["sources"])
    return RegistryEntry(**facts)
