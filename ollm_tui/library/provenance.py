"""The origin of a model: a small JSON file beside its first file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.library.file_names import ORIGIN_ENDING
from ollm_tui.protocol.json_types import JsonObject

MAX_FILE_BYTES: Final = 64 * 1024
"""A longer file is not ours."""
_FORMAT: Final = 1
_FACTS: Final = {"place": "fetched_from", "revision": "revision", "licence": "licence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of the files of one model."""

    place: str
    """`owner/name` on a hub, an address without secrets, or a path."""
    revision: str | None = None
    """The commit on the hub."""
    licence: str | None = None
    """The hub's short name: `apache-2.0`, ..."""
    kind: str = "model"
    files: tuple[str, ...] = ()
    """File names, in the order of the parts."""
    fetched_at: float = 0.0
    """Seconds since 1970."""


def provenance_path(first_file: Path) -> Path:
    """Return where the provenance of a model is stored, by its first file."""
    return first_file.with_name(first_file.name + ORIGIN_ENDING)


def write_provenance(first_file: Path, provenance: Provenance) -> None:
    """Store where a model came from, readable by its owner only; blocks.

    Raises:
        OSError: it cannot be written.
    """
    record = {"format": _FORMAT, **asdict(provenance)}
    write_private(provenance_path(first_file), json.dumps(record, indent=1).encode(), lasting=False)


def provenance_facts(first_file: Path) -> JsonObject:
    """Return the stored source, revision and licence of a model; not cleaned. Blocks."""
    try:
        record = json.loads(read_bounded(provenance_path(first_file), MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(record, dict):
        return {}
    texts = {name: record.get(key) for key, name in _FACTS.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}
