"""A job as it is stored: a JSON object without its speed and without secrets.

Of an address, name and password are left out, and every query parameter that may be a secret.
"""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final, get_args

from ollm_tui.config.paths import expanded
from ollm_tui.library.downloads.job import (
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
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

FORMAT: Final = 1


def mapping(value: JsonValue, what: str) -> JsonMapping:
    """Return a value that must be a mapping; `what` names it in the error."""
    if not isinstance(value, Mapping):
        raise ValueError(f"no {what}")  # noqa: TRY004 -- one error for any damage
    return value


def text(record: JsonMapping, key: str) -> str:
    """Return a required text."""
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"no {key}")  # noqa: TRY004 -- as above
    return value


def text_or_none(record: JsonMapping, key: str) -> str | None:
    """Return a text, or None if it is missing."""
    return None if record.get(key) is None else text(record, key)


def count_or_none(record: JsonMapping, key: str) -> int | None:
    """Return a number of bytes, or None if it is missing."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"no {key}")
    return value


def seconds(record: JsonMapping, key: str) -> float:
    """Return a required time in seconds."""
    value = record.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"no {key}")  # noqa: TRY004 -- as above
    return float(value)


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
        "trouble": None if error is None else {"message": error.message, "hint": error.hint},
        "model": job.model,
        "changed_at": job.changed_at,
        "origin": origin_to_record(job.origin),
    }


def from_record(value: JsonValue) -> tuple[Job, bool]:
    """Read a job, and whether its whole origin was stored.

    Raises:
        UnsupportedFormat: it is for another version.
        ValueError: it is no job.
    """
    record = mapping(value, "download")
    if record.get("format") != FORMAT:
        raise UnsupportedFormat("of another version")
    origin, is_whole = origin_from_record(mapping(record.get("origin"), "origin"))
    error = record.get("trouble")
    job = Job(
        id=text(record, "id"),
        origin=origin,
        title=text(record, "title"),
        state=_state_of(text(record, "state")),
        note=text(record, "note"),
        completed=count_or_none(record, "completed") or 0,
        total=count_or_none(record, "total"),
        error=None if error is None else _error_of(mapping(error, "trouble")),
        model=text_or_none(record, "model"),
        changed_at=seconds(record, "changed_at"),
    )
    return job, is_whole


def _error_of(record: JsonMapping) -> JobError:
    return JobError(message=text(record, "message"), hint=text_or_none(record, "hint"))


def _state_of(name: str) -> JobState:
    states: tuple[JobState, ...] = get_args(JobState)
    for state in states:
        if state == name:
            return state
    raise ValueError("a state that there is not")


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


def origin_to_record(origin: Origin) -> JsonObject:
    """Return what is stored of an origin."""
    match origin:
        case HubFiles():
            return {
                "type": "hub",
                "repo": origin.repo,
                "revision": origin.revision,
                "name": origin.name,
                "files": [asdict(file) for file in origin.files],
                "licence": origin.licence,
                "kind": origin.kind,
            }
        case UrlFile():
            url = without_secrets(origin.url)
            is_whole = not has_secrets(origin.url)
            return {"type": "url", "url": url, "sha256": origin.sha256, "is_whole": is_whole}
        case LocalFiles():
            return {"type": "local", "path": str(origin.path)}
        case StarterPackage():
            wheel = None if origin.wheel is None else str(origin.wheel)
            return {"type": "starter", "wheel": wheel}
        case ProviderPull():
            return {"type": "pull", "provider": origin.provider, "model": origin.model}


def origin_from_record(record: JsonMapping) -> tuple[Origin, bool]:
    """Read an origin, and whether all of it was stored.

    Raises:
        ValueError: it is no origin.
    """
    match text(record, "type"):
        case "hub":
            return _hub_of(record), True
        case "url":
            origin = UrlFile(url=text(record, "url"), sha256=text_or_none(record, "sha256"))
            return origin, record.get("is_whole") is True
        case "local":
            return LocalFiles(path=Path(text(record, "path"))), True
        case "starter":
            wheel = text_or_none(record, "wheel")
            return StarterPackage(wheel=None if wheel is None else Path(wheel)), True
        case "pull":
            provider, model = text(record, "provider"), text(record, "model")
            return ProviderPull(provider=provider, model=model), True
    raise ValueError("an origin that there is not")


def _hub_of(record: JsonMapping) -> HubFiles:
    files = record.get("files")
    if not isinstance(files, list) or not files:
        raise ValueError("no files")
    return HubFiles(
        repo=text(record, "repo"),
        revision=text(record, "revision"),
        name=text(record, "name"),
        files=tuple(map(_file_of, files)),
        licence=text_or_none(record, "licence"),
        kind=text(record, "kind"),
    )


def _file_of(value: JsonValue) -> HubFile:
    record = mapping(value, "file")
    return HubFile(
        path=text(record, "path"),
        size=count_or_none(record, "size"),
        sha256=text_or_none(record, "sha256"),
    )
