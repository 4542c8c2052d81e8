"""The members of a pool, the models that each of them has, and one list of all models; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ollm_tui.dataclass import dataclass
from ollm_tui.models.capabilities import reported_abilities
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.router import same_model


@dataclass(frozen=True, slots=True)
class Member:
    """One server of a pool."""

    adapter: ProviderAdapter
    address: str
    """Host and port, for messages."""


class ModelIndex:
    """Which member has which models, according to their listings and errors."""

    def __init__(self, size: int) -> None:
        self._listed: list[tuple[ModelInfo, ...] | None] = [None] * size
        self._lacking: list[set[str]] = [set() for _ in range(size)]

    def fill(self, member: int, models: Iterable[ModelInfo]) -> None:
        """Store a member's listing."""
        self._listed[member] = tuple(models)
        self._lacking[member].clear()

    def mark_lacking(self, member: int, model: str) -> None:
        """Note that a member does not have a model, whatever it listed."""
        self._lacking[member].add(model)

    def of(self, member: int) -> tuple[ModelInfo, ...] | None:
        """Return a member's last listing, or None if there is none."""
        return self._listed[member]

    def holders(self, model: str) -> list[int]:
        """Return the members that list a model or were never listed, else those that may have it.

        So a member that was down during the listing can take over later.
        """
        members = range(len(self._listed))
        possible = [m for m in members if model not in self._lacking[m]]
        likely = [m for m in possible if self._listed[m] is None or self._has(m, model)]
        return likely or possible or [*members]

    def _has(self, member: int, model: str) -> bool:
        return any(same_model(model, info.name) for info in self._listed[member] or ())


def merged(listings: Iterable[Sequence[ModelInfo]]) -> list[ModelInfo]:
    """Return every model once, in the order of the listings."""
    models: dict[str, ModelInfo] = {}
    for listing in listings:
        for info in listing:
            known = models.get(info.name)
            models[info.name] = info if known is None else _both(known, info)
    return [*models.values()]


def _both(one: ModelInfo, other: ModelInfo) -> ModelInfo:
    windows = [window for window in (one.context, other.context) if window is not None]
    loaded = None if one.loaded is other.loaded is None else bool(one.loaded or other.loaded)
    both = replace(
        one,
        context=min(windows, default=None),
        loaded=loaded,
        capability=_common(one.capability, other.capability),
        reported=None,
        chosen=one.chosen & other.chosen,
    )
    reported = reported_abilities(one) & reported_abilities(other)
    return both if reported_abilities(both) == reported else replace(both, reported=reported)


def _common(one: ModelCapability | None, other: ModelCapability | None) -> ModelCapability | None:
    if one is None or other is None:
        return one or other
    return ModelCapability(
        one.input & other.input, one.output & other.output, one.features & other.features
    )
