"""What a model can do: set by the user, reported by its engine, or assumed by its family; pure.

An assumption is only shown: no feature is withheld from a model because of one.
`models/assumptions.py: Assumptions` makes them, where lists of models arrive.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Generic, Literal, TypeAlias, TypeVar

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.model import ModelCapability, ModelInfo

Ability: TypeAlias = Literal["vision", "tools", "thinking", "embedding"]
Source: TypeAlias = Literal["set", "known", "assumed"]
Value = TypeVar("Value", bool, int)
ABILITIES: tuple[Ability, ...] = ("vision", "tools", "thinking", "embedding")


@dataclass(frozen=True, slots=True)
class Fact(Generic[Value]):
    """A value, None if it is unknown, and its source."""

    value: Value | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What is assumed or known about one model."""

    vision: Fact[bool]
    tools: Fact[bool]
    thinking: Fact[bool]
    embedding: Fact[bool]
    context: Fact[int]
    """The context window in use, in tokens."""

    def ability(self, name: Ability) -> Fact[bool]:
        """Return one ability by its name."""
        fact: Fact[bool] = getattr(self, name)
        return fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOverrides:
    """What the user set for a model; None for what is not set."""

    vision: bool | None = None
    tools: bool | None = None
    thinking: bool | None = None
    context: int | None = None


def capabilities_of(info: ModelInfo) -> Capabilities:
    """Resolve what is known about a model: set, else reported, else assumed."""
    window = info.context
    is_set = "context" in info.chosen
    return Capabilities(
        vision=_fact(info, "vision"),
        tools=_fact(info, "tools"),
        thinking=_fact(info, "thinking"),
        embedding=_fact(info, "embedding"),
        context=Fact(window, "assumed" if window is None else "set" if is_set else "known"),
    )


def ranking_of(info: ModelInfo) -> Fact[bool]:
    """Return whether a model gives scores of texts, as rerankers do, instead of text."""
    if info.capability is not None and info.capability.output:
        return Fact("score" in info.capability.output, "known")
    return Fact((info.assumed is not None and "score" in info.assumed.output) or None, "assumed")


def with_overrides(info: ModelInfo, overrides: ModelOverrides) -> ModelInfo:
    """Return a model's description with the user's settings; `chosen` names what was set."""
    names: tuple[Ability, ...] = ("vision", "tools", "thinking")
    set_now = {n: is_able for n in names if (is_able := getattr(overrides, n)) is not None}
    if not set_now and overrides.context is None:
        return info
    capability, reported = info.capability, reported_abilities(info)
    for name, is_able in set_now.items():
        capability = _changed(capability or _PLAIN, name, has=is_able)
    chosen = {*set_now, *(("context",) if overrides.context else ())}
    return replace(
        info,
        capability=capability,
        context=overrides.context or info.context,
        reported=reported,
        chosen=info.chosen | chosen,
    )


_PLAIN = ModelCapability(frozenset({"text"}), frozenset({"text"}))
_FEATURES: Mapping[Ability, str] = {"tools": "tool_use", "thinking": "thinking"}


def _fact(info: ModelInfo, name: Ability) -> Fact[bool]:
    if name in info.chosen:
        return Fact(_has(info.capability, name), "set")
    if name in reported_abilities(info):
        return Fact(_has(info.capability, name), "known")
    return Fact(_has(info.assumed, name) or None, "assumed")


def _has(capability: ModelCapability | None, name: Ability) -> bool:
    if capability is None:
        return False
    match name:
        case "vision":
            return "image" in capability.input
        case "embedding":
            return "embedding" in capability.output
        case _:
            return _FEATURES[name] in capability.features


def reported_abilities(info: ModelInfo) -> frozenset[str]:
    """Return the abilities that the engine reported, whether present or absent."""
    if info.reported is not None:
        return info.reported
    capability = info.capability or ModelCapability()
    reported: set[str] = {"vision"} if capability.input else set()
    reported |= {"embedding"} if capability.output else set()
    return frozenset(reported | ({"tools", "thinking"} if capability.features else set()))


def lacks_facts(info: ModelInfo) -> bool:
    """Whether there is an ability that the engine did not report, so that it is assumed."""
    return not reported_abilities(info) >= set(ABILITIES)


def is_described(info: ModelInfo) -> bool:
    """Whether a listing has everything that the engine knows about a model's abilities."""
    return info.capability is not None and (
        info.reported is None or info.reported >= set(ABILITIES)
    )


def _changed(capability: ModelCapability, name: Ability, *, has: bool) -> ModelCapability:
    if name == "vision":
        images = frozenset({"image"})
        inputs = capability.input | images if has else capability.input - images
        return replace(capability, input=inputs)
    feature = frozenset({_FEATURES[name]})
    features = capability.features | feature if has else capability.features - feature
    return replace(capability, features=features)
