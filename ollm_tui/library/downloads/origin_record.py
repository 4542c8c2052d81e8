"""What a download is of, as it is kept in a file, and what tells two of them apart.

Of an address name and password are not kept, and of a query only what is known to hold no secret.
"""

from collections.abc import Hashable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ollm_tui.config.paths import expanded
from ollm_tui.library.downloads.job import (
    HubFiles,
    LocalFiles,
    Origin,
    ProviderPull,
    StarterPackage,
    UrlFile,
)
from ollm_tui.library.downloads.record_fields import count_or_none, mapping, text, text_or_none
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

_HARMLESS_QUERIES: Final = frozenset({"download"})


def settled(origin: Origin) -> Origin:
    """Give an origin that means the same to a program that is started elsewhere."""
    match origin:
        case LocalFiles():
            return replace(origin, path=expanded(origin.path).absolute())
        case StarterPackage(wheel=Path() as wheel):
            return replace(origin, wheel=expanded(wheel).absolute())
        case _:
            return origin


def same(one: Origin, other: Origin) -> bool:
    """Whether two origins lead to the same files, whatever the commit."""
    return _key(one) == _key(other)


def _key(origin: Origin) -> Hashable:
    match origin:
        case HubFiles():
            # Two quantizations may have one name, each in a folder of its own.
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


def without_secrets(url: str) -> str:
    """Give as much of an address as may be kept."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name in _HARMLESS_QUERIES]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(kept), ""))


def has_secrets(url: str) -> bool:
    """Whether an address may not be kept whole."""
    parts = urlsplit(url)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or not _HARMLESS_QUERIES.issuperset(names)


def origin_to_record(origin: Origin) -> JsonObject:
    """Give what is kept of an origin."""
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
    """Read an origin, and whether all of it was kept.

    Raises:
        ValueError: this is none.
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
