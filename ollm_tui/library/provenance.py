"""Where a model came from, said in a small file beside its first file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.library.file_names import ORIGIN_ENDING
from ollm_tui.protocol.json_types import JsonObject

LARGEST: Final = 64 * 1024
"""Bytes; a longer file is none of ours."""
_FORMAT: Final = 1
_FACTS: Final = {"place": "fetched_from", "revision": "revision", "licence": "licence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the files of one model are from."""

    place: str
    """`owner/name` of a hub, an address without what is secret in it, or a path."""
    revision: str | None = None
    """The commit on the hub."""
    licence: str | None = None
    """The hub's short name of it."""
    kind: str = "model"
    files: tuple[str, ...] = ()
    """Names beside this one, in the order of their parts."""
    fetched_at: float = 0.0
    """Seconds since 1970."""


def provenance_path(first_file: Path) -> Path:
    """Give where it is said of a model, by its first or only file."""
    return first_file.with_name(first_file.name + ORIGIN_ENDING)


def write_provenance(first_file: Path, provenance: Provenance) -> None:
    """Say where a model is from, for its owner alone; touches the disk.

    Raises:
        OSError: it cannot be written.
    """
    said = {"format": _FORMAT, **asdict(provenance)}
    write_private(provenance_path(first_file), json.dumps(said, indent=1).encode(), lasting=False)


def provenance_facts(first_file: Path) -> JsonObject:
    """Give where a model was fetched and under which licence, where that is said; not cleaned."""
    try:
        said = json.loads(read_bounded(provenance_path(first_file), LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    texts = {name: said.get(key) for key, name in _FACTS.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}
