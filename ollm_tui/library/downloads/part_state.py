"""What is written down about a file that has not come whole: enough to go on, and no secret."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.protocol.json_types import JsonMapping, JsonValue

VERSION: Final = 1
MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartState:
    """A download as the disk knows it."""

    url: str
    """Without name, password and query."""
    etag: str | None = None
    """A strong one; None where the server gave none that can be relied on."""
    size: int | None = None
    sha256: str | None = None
    done: int = 0
    """So many bytes are on the disk for good; whatever follows them counts for nothing."""


def shown_url(url: str) -> str:
    """Give an address without whatever in it may be a secret."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def load_state(path: Path) -> PartState | None:
    """Read a state; None where there is none that can be trusted. Touches the disk."""
    try:
        return _state(read_bounded(path, MOST_BYTES, follows_links=False))
    except (OSError, ValueError):
        return None


def save_state(path: Path, state: PartState) -> None:
    """Write a state in one step: there is the old one or the new one, never a part of one.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    data = json.dumps({"version": VERSION} | asdict(state)).encode()
    # A kill leaves the new one under a name that is known and removed with the rest.
    write_private(path, data, by_way_of=new_state_path(path), lasting=False)


def new_state_path(path: Path) -> Path:
    """Give where the next state is written before it takes the name of the one before."""
    return path.with_name(path.name + ".new")


def _state(text: bytes) -> PartState | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return None
    fields: JsonMapping = value
    url, done = fields.get("url"), _count(fields.get("done"))
    size = _count(fields.get("size"))
    if not isinstance(url, str) or done is None or (size is not None and done > size):
        return None
    return PartState(
        url=url,
        etag=_text(fields.get("etag")),
        size=size,
        sha256=_text(fields.get("sha256")),
        done=done,
    )


def _count(value: JsonValue) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return int(value) if is_count and isinstance(value, int) else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
