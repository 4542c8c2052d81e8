"""`Hub`, a server with repositories of model files, and the types that describe them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

FileKind: TypeAlias = Literal["model", "projector", "whisper", "other"]
"""`projector` is a vision encoder that belongs to a model; `other` is stored, but nothing here
runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A repository in search results; every field but the name may be unknown."""

    repo: str
    """`owner/name`."""
    downloads: int | None = None
    """In the last month."""
    likes: int | None = None
    modified_at: str | None = None
    """ISO 8601, as the hub sent it."""
    licence: str | None = None
    """The hub's short name: `apache-2.0`, `llama3.1`, `other`, ..."""
    gated: bool = False
    """Whether its terms must be accepted on the hub's page first."""
    tags: tuple[str, ...] = ()
    architecture: str | None = None
    parameters: int | None = None
    context: int | None = None
    """The trained context window in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a repository."""

    path: str
    """Within the repository, with `/`; not checked for use in a file system."""
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    """64 lower-case hex digits; None if the hub has no checksum of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One choice in a repository: a file, or all parts of a split one."""

    name: str
    """The model's name: the file's, without folder, part number and suffix."""
    files: tuple[HubFile, ...]
    """In the order of their parts."""
    quantization: str | None = None
    """From the file name: `Q4_K_M`, `IQ3_XXS`, `BF16`, ..."""
    kind: FileKind = "model"
    problem: str | None = None
    """Why it cannot be downloaded: a part is missing, ..."""

    @property
    def size(self) -> int | None:
        """Bytes of all parts; None if one is unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRepo:
    """A repository at one commit."""

    model: HubModel
    revision: str
    """The commit, 40 hex digits; files are downloaded at this commit."""
    variants: tuple[Variant, ...] = ()
    """Models first, then by quality, the best first."""
    details: dict[str, str] = field(default_factory=dict)
    """More facts for a person: `base_model`, `pipeline`, `licence_link`, ..."""


class Hub(Protocol):
    """A server with repositories of model files.

    A protocol because settings that cannot be used give a hub that refuses everything.
    """

    @property
    def address(self) -> str:
        """The hub's address, as shown in messages."""
        ...

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Find repositories with model files, the most downloaded first.

        Raises:
            AIError: the hub cannot be reached or refuses.
        """
        ...

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Return the variants of a repository.

        Raises:
            AIError: MODEL_NOT_FOUND, AUTH_FAILED for one that is gated or private, or as above.
        """
        ...

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Return the URL of a file."""
        ...

    def token_for(self, url: str) -> str | None:
        """Return the token for an address; None unless it is the hub's own."""
        ...
