"""What a model can be looked for by."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ollm_tui.protocol.model import ModelCapability

PURPOSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "chat": "conversation and everyday questions",
        "code": "writing and explaining programs",
        "reasoning": "thinking before the answer: mathematics, science, logic",
        "vision": "looking at pictures",
        "embedding": "vectors of texts, for search",
        "tools": "calling tools",
        "small": "machines with little memory",
        "multilingual": "many languages",
        "speech": "speech to text",
    }
)
_BY_TAG: Final[Mapping[str, str]] = MappingProxyType(
    {
        "conversational": "chat",
        "code": "code",
        "reasoning": "reasoning",
        "image-text-to-text": "vision",
        "vision": "vision",
        "feature-extraction": "embedding",
        "sentence-similarity": "embedding",
        "function-calling": "tools",
        "tool-use": "tools",
        "multilingual": "multilingual",
        "automatic-speech-recognition": "speech",
    }
)


def purposes_of_tags(tags: tuple[str, ...]) -> frozenset[str]:
    """Read purposes off a hub's tags; most repositories carry few."""
    return frozenset(_BY_TAG[tag] for tag in tags if tag in _BY_TAG)


def purposes_of_capability(capability: ModelCapability | None) -> frozenset[str]:
    """Read purposes off what an engine says that a model can do."""
    if capability is None:
        return frozenset()
    found = set()
    if "embedding" in capability.output:
        found.add("embedding")
    if "image" in capability.input:
        found.add("vision")
    if capability.input == {"audio"}:
        found.add("speech")
    if "multi_turn" in capability.features:
        found.add("chat")
    if "tool_use" in capability.features:
        found.add("tools")
    if "thinking" in capability.features:
        found.add("reasoning")
    return frozenset(found)
