"""One model of the registry, whoever told of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ollm_tui.protocol.model import ModelRef


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
