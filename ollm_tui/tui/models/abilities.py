"""What a model can do in words, with how that is known; pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.models.capabilities import Ability, Source, capabilities_of
from ollm_tui.protocol.model import ModelInfo

SIGNS: Final[Mapping[Source, str]] = MappingProxyType({"known": "", "assumed": "?", "set": "!"})
"""What follows a word: `?` is assumed from the name, `!` is set by the person."""
BESIDE_TEXT: Final[tuple[tuple[Ability, str], ...]] = (
    ("vision", "vision"),
    ("tools", "tools"),
    ("thinking", "thinking"),
)
UNUSABLE: Final = "unusable"
"""Stands in place of what a model can do whose file is damaged or lacks a part."""
_LONGEST: Final = 300
_SPELLED: Final[Mapping[str, str]] = MappingProxyType({"thinking": "thinking thinks"})


def problem_with(info: ModelInfo) -> str | None:
    """Give why a model cannot be used, as its provider says; None where nothing is known."""
    told = info.details.get("problem")
    return told if isinstance(told, str) and told else None


def beside_text(info: ModelInfo) -> list[str]:
    """Give what a chat model can do beside text, in words with their signs."""
    held = capabilities_of(info)
    return [
        f"{word}{SIGNS[fact.source]}"
        for name, word in BESIDE_TEXT
        if (fact := held.ability(name)).value
    ]


def all_abilities(info: ModelInfo) -> list[str]:
    """Give everything a model is for, chat first; what nobody told of a chat is assumed."""
    if problem_with(info):
        return [UNUSABLE]
    embedding = capabilities_of(info).embedding
    output = info.capability.output if info.capability else frozenset()
    given = info.capability.input if info.capability else frozenset()
    found = []
    if "text" in output:
        found.append("chat")
    elif not output and not embedding.value:
        found.append("chat?")
    found += beside_text(info)
    if embedding.value:
        found.append(f"embedding{SIGNS[embedding.source]}")
    if "audio" in given | output:
        found.append("audio")
    if "image" in output:
        found.append("image")
    return found


def can_chat(info: ModelInfo) -> bool:
    """Whether a model may answer with text, as far as is known."""
    return why_no_chat(info) is None


def why_no_chat(info: ModelInfo, name: str = "It") -> str | None:
    """Say why there is no chatting with a model; None where nothing stands against it."""
    if problem := problem_with(info):
        return f"{name} cannot be used: {clean_line(problem[:_LONGEST])}."
    output = info.capability.output if info.capability else frozenset()
    return None if not output or "text" in output else f"{name} gives no text."


def searched_words(abilities: list[str]) -> str:
    """Give abilities as somebody may type them into a filter."""
    plain = [word.rstrip("?!") for word in abilities]
    return " ".join(_SPELLED.get(word, word) for word in plain)
