"""`Hub`, a server with repositories of model files, and its JSON parsed into types."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string, strings
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonMapping, JsonValue

FileKind: TypeAlias = Literal["model", "projector", "whisper", "voice", "drawing", "part", "other"]
"""`projector` is a vision encoder that belongs to a model, `voice` one of Piper's with its
description, `drawing` draws with the `part`s of its repository; `other` is stored, but nothing here
runs it."""
MAX_TAGS = 200
MAX_CHARS = 500
"""Limit of one text."""
MAX_PATH_CHARS = 4096
_REPO = lazy_re(r"(?=.{1,200}$)[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?", re.ASCII)
_COMMIT = lazy_re(r"[0-9a-f]{40}")
_SHA256 = lazy_re(r"[0-9a-fA-F]{64}")
_LICENCE = "license:"
_DETAILS = {"pipeline_tag": "pipeline", "library_name": "library", "createdAt": "created_at"}
_CARD_DETAILS = {
    "base_model": "base_model",
    "license_name": "licence_name",
    "license_link": "licence_link",
    "language": "language",
}
_SPEECH = frozenset({"whisper", "automatic-speech-recognition"})
_DRAWING = frozenset({"text-to-image", "image-to-image", "stable-diffusion", "stable-diffusion-xl"})


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
    """More facts for the user: `base_model`, `pipeline`, `licence_link`, ..."""


class Hub(Protocol):
    """A server with repositories of model files.

    A protocol because settings that cannot be used give a hub that refuses everything.
    """

    @property
    def address(self) -> str:
        """The hub's address, as shown in messages."""

    async def search(self, text: str, *, limit: int = 30) -> Sequence[HubModel]:
        """Find repositories with model files, the most downloaded first.

        Raises:
            AIError: the hub cannot be reached or refuses; the hint says what to do.
        """

    async def repo(self, repo: str, *, revision: str = "main") -> HubRepo:
        """Return the variants of a repository.

        Raises:
            AIError: MODEL_NOT_FOUND, AUTH_FAILED for one that is gated or private, or as above.
        """

    def file_url(self, repo: str, revision: str, path: str) -> str:
        """Return the URL of a file."""

    def token_for(self, url: str) -> str | None:
        """Return the token for an address; None unless it is the hub's own."""


def is_repo(text: str) -> bool:
    """Whether a text is a repository's name: `owner/name`, or only `name` for old ones."""
    parts = text.split("/")
    return bool(_REPO.fullmatch(text)) and not any(part in (".", "..") for part in parts)


def parse_sha256(text: str | None) -> str | None:
    """Return a SHA-256 in lower case from a bare, quoted or `sha256:` form; else None."""
    bare = (text or "").strip().removeprefix("W/").strip('"').removeprefix("sha256:")
    return bare.lower() if _SHA256.fullmatch(bare) else None


def is_commit(text: str) -> bool:
    """Whether a text is a full commit hash."""
    return bool(_COMMIT.fullmatch(text))


def models_of(value: JsonValue) -> list[HubModel]:
    """Parse search results."""
    models = (model_of(entry) for entry in objects(value))
    return [model for model in models if model is not None]


def model_of(entry: JsonMapping) -> HubModel | None:
    """Parse one repository; None without a valid name."""
    repo = string(entry, "id") or string(entry, "modelId")
    if repo is None or not is_repo(repo):
        return None
    facts = as_object(entry.get("gguf"))
    tags = strings(entry.get("tags"))[:MAX_TAGS]
    gated = entry.get("gated")
    return HubModel(
        repo=repo,
        downloads=_count(entry, "downloads"),
        likes=_count(entry, "likes"),
        modified_at=_short(string(entry, "lastModified")),
        licence=_licence(as_object(entry.get("cardData")), tags),
        gated=gated is True or (isinstance(gated, str) and bool(gated)),
        tags=tuple(tag[:MAX_CHARS] for tag in tags),
        architecture=_short(string(facts, "architecture")),
        parameters=positive(facts, "total"),
        context=positive(facts, "context_length"),
    )


def commit_of(value: JsonMapping) -> str | None:
    """Return the commit of a repository's details."""
    sha = string(value, "sha")
    return sha if sha is not None and is_commit(sha) else None


def siblings_of(value: JsonMapping) -> list[HubFile]:
    """Return the files in a repository's details."""
    return _files(objects(value.get("siblings")), "rfilename", "sha256")


def tree_of(value: JsonValue) -> list[HubFile]:
    """Return the files in one page of a tree."""
    files = (entry for entry in objects(value) if entry.get("type", "file") == "file")
    return _files(files, "path", "oid")


def details_of(value: JsonMapping) -> dict[str, str]:
    """Return more facts for the user."""
    card = as_object(value.get("cardData"))
    facts = {name: _words(value.get(key)) for key, name in _DETAILS.items()}
    facts |= {name: _words(card.get(key)) for key, name in _CARD_DETAILS.items()}
    return {name: words for name, words in facts.items() if words}


def is_about_speech(model: HubModel) -> bool:
    """Whether a repository's models recognize speech."""
    return bool(_SPEECH.intersection(model.tags)) or "whisper" in model.repo.lower()


def is_about_drawing(model: HubModel) -> bool:
    """Whether a repository's models draw."""
    return bool(_DRAWING.intersection(model.tags))


def _files(entries: Iterable[JsonMapping], name: str, sum_name: str) -> list[HubFile]:
    files = []
    for entry in entries:
        path = string(entry, name)
        if path is None or len(path) > MAX_PATH_CHARS:
            continue
        stored = as_object(entry.get("lfs"))
        size = _count(stored, "size")
        files.append(
            HubFile(
                path=path,
                size=_count(entry, "size") if size is None else size,
                sha256=parse_sha256(string(stored, sum_name) or string(stored, "oid")),
            )
        )
    return files


def _licence(card: JsonMapping, tags: Iterable[str]) -> str | None:
    licence = _words(card.get("license"))
    tagged = (tag.removeprefix(_LICENCE) for tag in tags if tag.startswith(_LICENCE))
    return licence or next((_short(tag) for tag in tagged if tag), None)


def _words(value: JsonValue) -> str | None:
    """Return a text, or the texts of a list joined."""
    if isinstance(value, str):
        return _short(value)
    return _short(", ".join(text[:MAX_CHARS] for text in strings(value)[:MAX_TAGS]))


def _short(text: str | None) -> str | None:
    return text[:MAX_CHARS] if text else None


def _count(data: JsonMapping, key: str) -> int | None:
    value = integer(data, key)
    return value if value is not None and value >= 0 else None
