"""What a model can do and how that is known: said by the engine, set by a person, or assumed; pure.

Whoever has to know asks `capabilities_of`. A person's word counts more than the engine's, and what
neither says is guessed from the name. A guess is for showing: nothing is kept from a model by it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Generic, Literal, TypeAlias, TypeVar

from ollm_tui.protocol.model import ModelCapability, ModelInfo

Ability: TypeAlias = Literal["vision", "tools", "thinking", "embedding"]
Source: TypeAlias = Literal["set", "known", "assumed"]
Value = TypeVar("Value", bool, int)
ABILITIES: tuple[Ability, ...] = ("vision", "tools", "thinking", "embedding")

_GUESSES: Mapping[Ability, re.Pattern[str]] = MappingProxyType(
    {
        "vision": re.compile(
            r"llava|vision|pixtral|moondream|minicpm-?v|[-_.]vl\b|vl[-:]|internvl|gemma-?3(?!.*\b1b)"
            r"|gpt-(4o|4\.1|5)|claude-"
        ),
        "tools": re.compile(
            r"qwen(2\.5|3)|llama-?3\.[1-3]|mistral|mixtral|ministral|command-r|hermes|functionary"
            r"|granite|gpt-(oss|4|5)|claude-|firefunction|devstral"
        ),
        "thinking": re.compile(
            r"qwq|deepseek-?r1|[-_]r1\b|qwen3|gpt-(oss|5)|magistral|thinking|reason"
        ),
        "embedding": re.compile(r"embed|minilm|\bbge[-_]|\be5[-_]|\bgte[-_]"),
    }
)
_GUESSED_LENGTH = 200
"""Characters of a name that are looked at."""


@dataclass(frozen=True, slots=True)
class Fact(Generic[Value]):
    """A value, None while nobody has an idea, and who says so."""

    value: Value | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What is held of one model."""

    vision: Fact[bool]
    tools: Fact[bool]
    thinking: Fact[bool]
    embedding: Fact[bool]
    context: Fact[int]
    """The window in use, in tokens."""

    def ability(self, name: Ability) -> Fact[bool]:
        """Give one ability by its name."""
        fact: Fact[bool] = getattr(self, name)
        return fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a person set of a model; None is nothing."""

    vision: bool | None = None
    tools: bool | None = None
    thinking: bool | None = None
    context: int | None = None


def capabilities_of(info: ModelInfo) -> Capabilities:
    """Resolve what is known of a model: set, else told by the engine, else assumed."""
    window = info.context
    is_set = "context" in info.chosen
    return Capabilities(
        vision=_fact(info, "vision"),
        tools=_fact(info, "tools"),
        thinking=_fact(info, "thinking"),
        embedding=_fact(info, "embedding"),
        context=Fact(window, "assumed" if window is None else "set" if is_set else "known"),
    )


def with_declared(info: ModelInfo, declared: Declared) -> ModelInfo:
    """Give a model's description as a person corrects it; `chosen` tells what was corrected."""
    wishes: dict[Ability, bool | None] = {
        "vision": declared.vision,
        "tools": declared.tools,
        "thinking": declared.thinking,
    }
    set_now = {name: wish for name, wish in wishes.items() if wish is not None}
    if not set_now and declared.context is None:
        return info
    capability, told = info.capability, abilities_told(info)
    for name, wish in set_now.items():
        capability = _changed(capability or _PLAIN, name, has=wish)
    chosen = {*set_now, *(("context",) if declared.context else ())}
    return replace(
        info,
        capability=capability,
        context=declared.context or info.context,
        told=told,
        chosen=info.chosen | chosen,
    )


_PLAIN = ModelCapability(frozenset({"text"}), frozenset({"text"}))
_FEATURES: Mapping[Ability, str] = MappingProxyType({"tools": "tool_use", "thinking": "thinking"})


def _fact(info: ModelInfo, name: Ability) -> Fact[bool]:
    if name in info.chosen:
        return Fact(_has(info.capability, name), "set")
    if name in abilities_told(info):
        return Fact(_has(info.capability, name), "known")
    guess = _GUESSES[name].search(info.name[:_GUESSED_LENGTH].lower()) is not None
    return Fact(guess or None, "assumed")


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


def abilities_told(info: ModelInfo) -> frozenset[str]:
    """Give the abilities that the engine spoke about, whether it has them or not."""
    if info.told is not None:
        return info.told
    capability = info.capability or ModelCapability()
    told: set[str] = {"vision"} if capability.input else set()
    told |= {"embedding"} if capability.output else set()
    return frozenset(told | ({"tools", "thinking"} if capability.features else set()))


def is_described(info: ModelInfo) -> bool:
    """Whether a listing says all that the engine knows of a model's abilities."""
    return info.capability is not None and (info.told is None or info.told >= set(ABILITIES))


def _changed(capability: ModelCapability, name: Ability, *, has: bool) -> ModelCapability:
    if name == "vision":
        images = frozenset({"image"})
        inputs = capability.input | images if has else capability.input - images
        return replace(capability, input=inputs)
    feature = frozenset({_FEATURES[name]})
    features = capability.features | feature if has else capability.features - feature
    return replace(capability, features=features)
