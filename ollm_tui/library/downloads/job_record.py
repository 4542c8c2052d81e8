"""A job as it is stored: a JSON object without its speed and without secrets.

Of an address, name and password are left out, and every query parameter that may be a secret.
"""

from collections.abc import Hashable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, TypeVar

from ollm_tui.config.paths import expanded
from ollm_tui.library.downloads.job import (
    TRANSITIONS,
    HubFiles,
    Job,
    JobError,
    JobState,
    LocalFiles,
    Origin,
    ProviderPull,
    StarterPackage,
    UrlFile,
)
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.library.urls import has_secrets, without_secrets
from ollm_tui.protocol.json_types import JsonObject, JsonValue

FORMAT: Final = 1
T = TypeVar("T")


def _optional(record: JsonObject, key: str, kind: type[T]) -> T | None:
    """Return a field of that type, or None if it is missing."""
    return None if record.get(key) is None else _required(record.get(key), key, kind)


def _required(value: JsonValue, what: str, kind: type[T]) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"no {what}")  # noqa: TRY004 -- one error for any damage
    return value


def _text(record: JsonObject, key: str) -> str:
    return _required(record.get(key), key, str)


def _count(record: JsonObject, key: str) -> int | None:
    count = _optional(record, key, int)
    if count is not None and count < 0:
        raise ValueError(f"no {key}")
    return count


def _seconds(record: JsonObject, key: str) -> float:
    value = record.get(key)
    return value if isinstance(value, float) else float(_required(value, key, int))


class UnsupportedFormat(ValueError):
    """The record was written by an older or newer program; it is not damaged."""


def to_record(job: Job) -> JsonObject:
    """Return what is stored of a job."""
    error = job.error
    return {
        "format": FORMAT,
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "note": job.note,
        "completed": job.completed,
        "total": job.total,
        "trouble": None if error is None else asdict(error),
        "model": job.model,
        "changed_at": job.changed_at,
        "origin": _origin_to_record(job.origin),
    }


def from_record(value: JsonValue) -> tuple[Job, bool]:
    """Read a job, and whether its whole origin was stored.

    Raises:
        UnsupportedFormat: it is for another version.
        ValueError: it is no job.
    """
    record = _required(value, "download", dict)
    if record.get("format") != FORMAT:
        raise UnsupportedFormat("of another version")
    origin, is_whole = _origin(_required(record.get("origin"), "origin", dict))
    error = _optional(record, "trouble", dict)
    job = Job(
        id=_text(record, "id"),
        origin=origin,
        title=_text(record, "title"),
        state=_state(_text(record, "state")),
        note=_text(record, "note"),
        completed=_count(record, "completed") or 0,
        total=_count(record, "total"),
        error=None if error is None else _error(error),
        model=_optional(record, "model", str),
        changed_at=_seconds(record, "changed_at"),
    )
    return job, is_whole


def _error(record: JsonObject) -> JobError:
    return JobError(message=_text(record, "message"), hint=_optional(record, "hint", str))


def _state(name: str) -> JobState:
    state = next((state for state in TRANSITIONS if state == name), None)
    if state is None:
        raise ValueError("no state")
    return state


def absolute_origin(origin: Origin) -> Origin:
    """Return an origin with absolute paths, valid for a program started elsewhere."""
    match origin:
        case LocalFiles():
            return replace(origin, path=expanded(origin.path).absolute())
        case StarterPackage(wheel=Path() as wheel):
            return replace(origin, wheel=expanded(wheel).absolute())
        case _:
            return origin


def same_origin(one: Origin, other: Origin) -> bool:
    """Whether two origins are the same files, at any commit."""
    return _key(one) == _key(other)


def _key(origin: Origin) -> Hashable:
    match origin:
        case HubFiles():
            # Two quantizations may share a name, each in a folder of its own.
            folders = frozenset(file.path.rpartition("/")[0] for file in origin.files)
            return "hub", origin.repo.casefold(), origin.name, origin.kind, folders
        case UrlFile():
            return "url", without_secrets(origin.url)
        case LocalFiles():
            return "local", origin.path
        case StarterPackage():
            return "starter"
        case ProviderPull():
            return "pull", origin.provider, origin.model


def _origin_to_record(origin: Origin) -> JsonObject:
    match origin:
        case HubFiles(files=files):
            return {"type": "hub", **asdict(origin), "files": [asdict(file) for file in files]}
        case UrlFile(url=url, sha256=sha256):
            is_whole = not has_secrets(url)
            url = without_secrets(url)
            return {"type": "url", "url": url, "sha256": sha256, "is_whole": is_whole}
        case LocalFiles(path=path):
            return {"type": "local", "path": str(path)}
        case StarterPackage(wheel=wheel):
            return {"type": "starter", "wheel": None if wheel is None else str(wheel)}
        case ProviderPull():
            return {"type": "pull", **asdict(origin)}


def _origin(record: JsonObject) -> tuple[Origin, bool]:
    """Return an origin, and whether all of it was stored."""
    match _text(record, "type"):
        case "hub":
            return _hub_files(record), True
        case "url":
            origin = UrlFile(url=_text(record, "url"), sha256=_optional(record, "sha256", str))
            return origin, record.get("is_whole") is True
        case "local":
            return LocalFiles(path=Path(_text(record, "path"))), True
        case "starter":
            wheel = _optional(record, "wheel", str)
            return StarterPackage(wheel=None if wheel is None else Path(wheel)), True
        case "pull":
            provider, model = _text(record, "provider"), _text(record, "model")
            return ProviderPull(provider=provider, model=model), True
    raise ValueError("no origin")


def _hub_files(record: JsonObject) -> HubFiles:
    files = _required(record.get("files"), "files", list)
    if not files:
        raise ValueError("no files")
    return HubFiles(
        repo=_text(record, "repo"),
        revision=_text(record, "revision"),
        name=_text(record, "name"),
        files=tuple(_file(_required(file, "file", dict)) for file in files),
        licence=_optional(record, "licence", str),
        kind=_text(record, "kind"),
    )


def _file(record: JsonObject) -> HubFile:
    sha256 = _optional(record, "sha256", str)
    return HubFile(path=_text(record, "path"), size=_count(record, "size"), sha256=sha256)
