"""`RegistryEntry`, one model of the registry, and the purposes that models are searched by."""

from collections.abc import Mapping
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.model import ModelCapability, ModelRef

PURPOSES: Final[Mapping[str, str]] = {
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
_BY_TAG: Final[Mapping[str, str]] = {
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
_BY_FEATURE: Final = {"multi_turn": "chat", "tool_use": "tools", "thinking": "reasoning"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A model that can be downloaded or is installed; all but id and name may be unknown.

    Specification: 05, layer "Model Registry": catalogue, search, ratings, metadata, skills.
    """

    id: str
    """Stable: that of the built-in list, else `hf:owner/name` or `provider://model`."""
    name: str
    family: str | None = None
    description: str | None = None
    parameters: int | None = None
    active_parameters: int | None = None
    """Active parameters of a mixture of experts; None if all are."""
    context: int | None = None
    """The trained context window in tokens."""
    licence: str | None = None
    purposes: frozenset[str] = frozenset()
    """`chat`, `code`, `reasoning`, `vision`, `embedding`, `tools`, `small`, `multilingual`, ..."""
    skills: Mapping[str, int] = field(default_factory=dict)
    """How good it is at a purpose, 1 to 5, according to the built-in list."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes by quantization."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where it can be downloaded: `huggingface` to `owner/name`, `ollama` to `name:tag`."""
    sources: tuple[str, ...] = ()
    """Pages that the built-in facts come from."""
    downloads: int | None = None
    likes: int | None = None
    modified_at: str | None = None
    facts_at: float | None = None
    """When the hub was queried, in seconds since 1970; None if only the built-in list knows it."""
    rating: int | None = None
    """The user's own, 1 to 5."""
    uses: int = 0
    """Number of chats with it."""
    last_used_at: float | None = None
    installed: tuple[ModelRef, ...] = ()
    """Where it is installed."""


def purposes_of_tags(tags: tuple[str, ...]) -> frozenset[str]:
    """Return the purposes in a hub's tags."""
    return frozenset(_BY_TAG[tag] for tag in tags if tag in _BY_TAG)


def purposes_of_capability(capability: ModelCapability | None) -> frozenset[str]:
    """Return the purposes of a capability."""
    if capability is None:
        return frozenset()
    purposes = {_BY_FEATURE[name] for name in capability.features & _BY_FEATURE.keys()}
    if "embedding" in capability.output:
        purposes.add("embedding")
    if "image" in capability.input:
        purposes.add("vision")
    if capability.input == {"audio"}:
        purposes.add("speech")
    return frozenset(purposes)
