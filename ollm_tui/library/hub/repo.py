"""What a hub tells of repositories and the model files in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

FileKind: TypeAlias = Literal["model", "projector", "whisper", "other"]
"""`projector` is the picture encoder that goes with a model; `other` a kind of model that is
stored but that nothing here runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A repository as a search finds it; every field but the name may be unknown."""

    repo: str
    """`owner/name`."""
    downloads: int | None = None
    """Of the last month."""
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
    """The window it was trained with, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a repository."""

    path: str
    """Within the repository, with `/`; not yet checked for what a file system makes of it."""
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    """64 lower-case hex digits; None where the hub keeps no sum of this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What can be chosen in a repository: a file, or all the parts of a split one."""

    name: str
    """As the model will be called: the file's name without folder, part number and suffix."""
    files: tuple[HubFile, ...]
    """In the order of their parts."""
    quantization: str | None = None
    """As the file name says: `Q4_K_M`, `IQ3_XXS`, `BF16`, ..."""
    kind: FileKind = "model"
    problem: str | None = None
    """Why it cannot be downloaded: a part is missing, ..."""

    @property
    def size(self) -> int | None:
        """Bytes of all parts; None while that of one is unknown."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRepo:
    """A repository at one commit."""

    model: HubModel
    revision: str
    """The commit: 40 hex digits. What is fetched later is of this commit."""
    variants: tuple[Variant, ...] = ()
    """The best quality first; models before all other kinds."""
    details: dict[str, str] = field(default_factory=dict)
    """Further words for a person: `base_model`, `pipeline`, `licence_link`, ..."""


class Hub(Protocol):
    """A place with repositories of model files."""

    @property
    def place(self) -> str:
        """The hub's address as messages name it."""
        ...

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Find repositories with model files, the most downloaded first.

        Raises:
            AIError: the hub cannot be asked; the message names it and the next step.
        """
        ...

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Give what can be chosen in a repository.

        Raises:
            AIError: MODEL_NOT_FOUND, AUTH_FAILED for one that is gated or private, or as above.
        """
        ...

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Give where a file is fetched from."""
        ...

    def token_for(self, url: str) -> str | None:
        """Give the person's token for an address: None for any that is not the hub's own."""
        ...
