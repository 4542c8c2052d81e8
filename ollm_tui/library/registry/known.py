"""What is known of models before it is put together: of the hub, of the engines, of the person."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.model import ModelInfo, ModelRef

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class HubFacts:
    """What a hub said of a repository, and when it was asked, in seconds since 1970."""

    model: HubModel
    at: float


@dataclass(frozen=True, slots=True)
class Rating:
    """The person's own word on a model: 1 to 5, and when it was given."""

    stars: int
    at: float


@dataclass(frozen=True, slots=True)
class Use:
    """How many chats there were with a model, and when the last began."""

    count: int
    last_at: float


def _nothing() -> Mapping[K, V]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """What the person thinks of models and does with them."""

    ratings: Mapping[str, Rating] = field(default_factory=_nothing)
    """By the id of the entry that was rated."""
    uses: Mapping[str, Use] = field(default_factory=_nothing)
    """By address: `provider://model`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that entries are made from."""

    curated: Sequence[RegistryEntry] = ()
    hub: Iterable[HubFacts] = ()
    installed: Iterable[tuple[ModelRef, ModelInfo]] = ()
    opinions: Opinions = field(default_factory=Opinions)


def newest(facts: Iterable[HubFacts]) -> dict[str, HubFacts]:
    """Keep the latest that was said of each repository, by its name in lower case.

    Neither the order nor a repetition makes a difference.
    """
    kept: dict[str, HubFacts] = {}
    for fact in facts:
        key = fact.model.repo.casefold()
        known = kept.get(key)
        if known is None or _age_of(fact) > _age_of(known):
            kept[key] = fact
    return kept


def _age_of(fact: HubFacts) -> tuple[float, str]:
    return fact.at, repr(fact.model)  # two answers of one moment: any rule, as long as it is one
