"""`ModelEntry`: one row of the models screen, what it can do, and how it matches a query; pure."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.model_facts import problem_of
from ollm_tui.models.capabilities import Ability, Source, capabilities_of, ranking_of
from ollm_tui.models.tasks import ModelTask
from ollm_tui.models.tool_check import tool_check_of, tool_words
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.runtime.model_lookup import gpu_share_of

if TYPE_CHECKING:
    from ollm_tui.library.fit import Fit

MAX_LENGTH: Final = 500
"""Characters of a foreign name that are used; no line shows as many."""
LIST_TIMEOUT_S: Final = 5.0
"""How long a provider may take to list its models."""
_SIGNS: Final[Mapping[Source, str]] = {"known": "", "assumed": "?", "set": "!"}
"""What follows an ability: `?` is assumed by the family, `!` is set by the user."""
_EXTRA_ABILITIES: Final[tuple[Ability, ...]] = ("vision", "tools", "thinking")
_UNUSABLE: Final = "unusable"
"""Replaces the abilities of a model whose file is damaged or lacks a part."""
_SYNONYMS: Final[Mapping[str, str]] = {"thinking": "thinking thinks"}


def extra_abilities(info: ModelInfo) -> list[str]:
    """Return what a chat model can do besides text, in words with their signs."""
    abilities, check = capabilities_of(info), tool_check_of(info)
    words = {
        name: f"{name}{_SIGNS[fact.source]}"
        for name in _EXTRA_ABILITIES
        if (fact := abilities.ability(name)).value
    }
    if check is not None:  # what it does counts more than what is claimed
        words["tools"] = tool_words(check)
    return list(words.values())


def all_abilities(info: ModelInfo) -> list[str]:
    """Return everything a model is for, chat first; chat is assumed if its outputs are unknown."""
    if problem_of(info):
        return [_UNUSABLE]
    embedding, ranking = capabilities_of(info).embedding, ranking_of(info)
    outputs = info.capability.output if info.capability else frozenset()
    inputs = info.capability.input if info.capability else frozenset()
    is_other = embedding.value or ranking.value
    answers = "text" in outputs and (not inputs or "text" in inputs)
    chat = "chat" if answers else "" if outputs or is_other else "chat?"
    others = (
        f"embedding{_SIGNS[embedding.source]}" if embedding.value else "",
        "audio" if "audio" in inputs | outputs else "",
        "image" if "image" in outputs else "",
        f"rerank{_SIGNS[ranking.source]}" if ranking.value else "",
    )
    return [word for word in (chat, *extra_abilities(info), *others) if word]


@dataclass(frozen=True)
class ModelEntry:
    """A model of a provider and what is known of it; derived values are computed once."""

    ref: ModelRef
    info: ModelInfo
    label: str
    """The provider's name for people."""
    running: ModelInfo | None = None
    """What its server reports of it while it is loaded."""
    fit: "Fit | None" = None
    """Whether it fits this machine; None if that is not known or it runs on another one."""
    tasks: tuple[ModelTask, ...] = ()
    """What it is for beside chatting."""
    default_for: tuple[ModelTask, ...] = ()
    """The tasks that it is used for by default."""

    @cached_property
    def name(self) -> str:
        """The name, cleaned for the screen."""
        return clean_name(self.ref.model[:MAX_LENGTH])

    @cached_property
    def provider(self) -> str:
        """The provider's name, cleaned for the screen."""
        return clean_name(self.label[:MAX_LENGTH])

    @cached_property
    def abilities(self) -> list[str]:
        """What it can do, in words with their signs."""
        return [*all_abilities(self.info), *(["default"] if self.default_for else [])]

    @cached_property
    def quantization(self) -> str:
        """The quantization, cleaned for the screen; empty if it is not known."""
        declared = self.info.details.get("quantization")
        return clean_name(declared[:MAX_LENGTH]) if isinstance(declared, str) else ""

    @property
    def is_loaded(self) -> bool | None:
        """Whether it is in memory; None if that is not known."""
        return True if self.running is not None else self.info.loaded

    @property
    def context(self) -> int | None:
        """The context window in use, in tokens."""
        running = self.running.context if self.running else None
        return running or self.info.context

    @property
    def trained(self) -> int | None:
        """The context window it was trained with, in tokens."""
        declared = self.info.details.get("context_trained")
        return declared if isinstance(declared, int) and declared > 0 else None

    @cached_property
    def gpu_share(self) -> float | None:
        """The share of it in graphics memory, from 0 to 1; None if that is not known."""
        return gpu_share_of(self.running) if self.running else None

    @cached_property
    def _name_and_provider(self) -> tuple[str, str]:
        return self.ref.model.lower(), f"{self.ref.provider} {self.label}".lower()

    @cached_property
    def _facts(self) -> str:
        plain = [word.rstrip("?!") for word in self.abilities]
        abilities = " ".join(_SYNONYMS.get(word, word) for word in plain)
        loaded = " loaded" if self.is_loaded else ""
        return f"{abilities} {self.quantization}{loaded}".lower()

    def rank(self, query: str, *, with_facts: bool = True) -> int | None:
        """Rank how well it matches a query, 0 is the best; None if it does not.

        With `with_facts` words may also match abilities, quantization and `loaded`.
        """
        facts = self._facts if with_facts else ""
        ranks = [_term_rank(one, *self._name_and_provider, facts) for one in query.lower().split()]
        known = [rank for rank in ranks if rank is not None]
        return sum(known) if len(known) == len(ranks) else None


def _term_rank(term: str, name: str, provider: str, facts: str) -> int | None:
    start = name.find(term)
    if start == 0:
        return 0
    if start > 0:
        return 1 if not name[start - 1].isalnum() else 2
    if term in provider:
        return 3
    if facts and f" {term}" in f" {facts}":
        return 4
    return 9 if _is_subsequence(term, name) else None


def _is_subsequence(term: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in term)


def matching(
    entries: Iterable[ModelEntry], query: str, recents: Sequence[str], *, with_facts: bool = True
) -> list[ModelEntry]:
    """Return the entries that match, the best first, then by `recents`: addresses, latest first."""
    recency = {address: number for number, address in enumerate(recents)}
    last = len(recents)
    if not query.strip():
        return sorted(entries, key=lambda entry: recency.get(str(entry.ref), last))
    ranked = [
        (rank, entry)
        for entry in entries
        if (rank := entry.rank(query, with_facts=with_facts)) is not None
    ]
    ranked.sort(key=lambda pair: (pair[0], recency.get(str(pair[1].ref), last)))
    return [entry for _rank, entry in ranked]
