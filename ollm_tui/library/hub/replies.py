"""Parses a hub's JSON into the types of this package; whatever does not fit is left out."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ollm_tui.decode.json_fields import as_object, integer, objects, positive, string, strings
from ollm_tui.library.hub.repo import HubFile, HubModel
from ollm_tui.protocol.json_types import JsonMapping, JsonValue

MAX_TAGS = 200
MAX_CHARS = 500
"""Limit of one text."""
MAX_PATH_CHARS = 4096
_REPO = re.compile(r"(?=.{1,200}$)[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")
_LICENCE = "license:"
_DETAILS: Mapping[str, str] = MappingProxyType(
    {"pipeline_tag": "pipeline", "library_name": "library", "createdAt": "created_at"}
)
_CARD_DETAILS: Mapping[str, str] = MappingProxyType(
    {
        "base_model": "base_model",
        "license_name": "licence_name",
        "license_link": "licence_link",
        "language": "language",
    }
)
_SPEECH = frozenset({"whisper", "automatic-speech-recognition"})


def is_repo(text: str) -> bool:
    """Whether a text is a repository's name: `owner/name`, or only `name` for old ones."""
    parts = text.split("/")
    return bool(_REPO.fullmatch(text)) and not any(part in (".", "..") for part in parts)


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
    """Return more facts for a person."""
    card = as_object(value.get("cardData"))
    facts = {name: _words(value.get(key)) for key, name in _DETAILS.items()}
    facts |= {name: _words(card.get(key)) for key, name in _CARD_DETAILS.items()}
    return {name: words for name, words in facts.items() if words}


def is_about_speech(model: HubModel) -> bool:
    """Whether a repository's models recognize speech."""
    return bool(_SPEECH.intersection(model.tags)) or "whisper" in model.repo.lower()


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
                sha256=_sha256(string(stored, sum_name) or string(stored, "oid")),
            )
        )
    return files


def _sha256(text: str | None) -> str | None:
    match = _SHA256.fullmatch(text or "")
    return match[1].lower() if match else None


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
    """Return a field that is an integer of at least 0; else None."""
    value = integer(data, key)
    return value if value is not None and value >= 0 else None
