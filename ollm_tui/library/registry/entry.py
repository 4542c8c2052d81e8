"""`RegistryEntry`, one model of the registry, and the purposes that models are searched by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from ollm_tui.protocol.model import ModelCapability, ModelRef


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A model that can be fetched or is here already; every field but id and name may be unknown.

    Specification: 05, layer "Model Registry": catalogue, search, ratings, metadata, skills.
    """

    id: str
    """Stable: the built-in list's own, else `hf:owner/name` or `provider://model`."""
    name: str
    family: str | None = None
    description: str | None = None
    parameters: int | None = None
    active_parameters: int | None = None
    """Those that work at a time in a mixture of experts; None where all do."""
    context: int | None = None
    """The window it was trained with, in tokens."""
    licence: str | None = None
    purposes: frozenset[str] = frozenset()
    """`chat`, `code`, `reasoning`, `vision`, `embedding`, `tools`, `small`, `multilingual`, ..."""
    skills: Mapping[str, int] = field(default_factory=dict)
    """How good it is at a purpose, 1 to 5, as the built-in list judges; its sources are named
    there."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes by quantization, as far as known."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where it can be had: `huggingface` to `owner/name`, `ollama` to `name:tag`."""
    sources: tuple[str, ...] = ()
    """Pages that the built-in facts are from."""
    downloads: int | None = None
    likes: int | None = None
    modified_at: str | None = None
    facts_at: float | None = None
    """When the hub was asked, in seconds since 1970; None for what only the built-in list says."""
    rating: int | None = None
    """The person's own, 1 to 5."""
    uses: int = 0
    """Chats that this person had with it."""
    last_used_at: float | None = None
    installed: tuple[ModelRef, ...] = ()
    """Where it is already."""


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
