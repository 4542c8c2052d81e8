"""`ModelEntry`: one model of the models screen, and what its columns are made of; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.tui.models.abilities import all_abilities, searched_words
from ollm_tui.tui.models.match import match_rank

if TYPE_CHECKING:
    from ollm_tui.library.fit import Fit

LONGEST = 500
"""Characters of a foreign name that are looked at; no line shows as many."""


@dataclass(frozen=True)
class ModelEntry:
    """A model, whose it is, and what is known of it; what is derived is kept."""

    ref: ModelRef
    info: ModelInfo
    label: str
    """The provider's name for people."""
    running: ModelInfo | None = None
    """What its server says of it while it is in memory."""
    fit: "Fit | None" = None
    """Whether it fits this machine; None where it is not known or runs on another one."""

    @cached_property
    def name(self) -> str:
        """The name, fit to be shown."""
        return clean_name(self.ref.model[:LONGEST])

    @cached_property
    def provider(self) -> str:
        """The provider's name, fit to be shown."""
        return clean_name(self.label[:LONGEST])

    @cached_property
    def abilities(self) -> list[str]:
        """What it can do, with signs."""
        return all_abilities(self.info)

    @cached_property
    def quantization(self) -> str:
        """How its weights are kept, fit to be shown; empty where nobody told."""
        told = self.info.details.get("quantization")
        return clean_name(told[:LONGEST]) if isinstance(told, str) else ""

    @property
    def is_loaded(self) -> bool | None:
        """Whether it is in memory; None where nobody tells."""
        return True if self.running is not None else self.info.loaded

    @property
    def context(self) -> int | None:
        """The window in use, in tokens."""
        running = self.running.context if self.running else None
        return running or self.info.context

    @property
    def trained(self) -> int | None:
        """The window it was trained with, in tokens."""
        told = self.info.details.get("context_trained")
        return told if isinstance(told, int) and told > 0 else None

    @cached_property
    def gpu_share(self) -> float | None:
        """The part of it that is in graphics memory; None where nobody tells."""
        total = self.running.size_bytes if self.running else None
        there = self.running.details.get("size_vram") if self.running else None
        if not total or total < 0 or not isinstance(there, int):
            return None
        return min(1.0, max(0.0, there / total))

    @cached_property
    def _searched(self) -> tuple[str, str, str]:
        facts = f"{searched_words(self.abilities)} {self.quantization}"
        if self.is_loaded:
            facts += " loaded"
        provider = f"{self.ref.provider} {self.label}"
        return self.ref.model.lower(), provider.lower(), facts.lower()

    def rank(self, query: str) -> int | None:
        """Rank how well it fits what was typed, 0 the best; None if it does not."""
        return match_rank(query, *self._searched)


def matching(entries: Iterable[ModelEntry], query: str, recents: Sequence[str]) -> list[ModelEntry]:
    """Keep what fits the query, the best first; among equals those used lately come first."""
    places = {address: place for place, address in enumerate(recents)}
    last = len(recents)
    if not query.strip():
        kept = list(entries)
        kept.sort(key=lambda entry: places.get(str(entry.ref), last))
        return kept
    ranked = [(rank, entry) for entry in entries if (rank := entry.rank(query)) is not None]
    ranked.sort(key=lambda pair: (pair[0], places.get(str(pair[1].ref), last)))
    return [entry for _rank, entry in ranked]
