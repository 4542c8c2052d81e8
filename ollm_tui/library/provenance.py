"""Where a model file came from, in a small file beside it.

It lies beside the first file of a model: `NAME.origin.json`. Whoever reads it gets nothing for one
that is missing, damaged or made up; its texts are foreign and have to be cleaned.
"""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ollm_tui.protocol.json_types import JsonValue

ENDING: Final = ".origin.json"
LARGEST: Final = 256 * 1024
_FORMAT: Final = 1


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
    return first_file.with_name(first_file.name + ENDING)


def write_provenance(first_file: Path, provenance: Provenance) -> None:
    """Say where a model is from, for its owner alone; touches the disk.

    Raises:
        OSError: it cannot be written.
    """
    path = provenance_path(first_file)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=ENDING)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump({"format": _FORMAT, **asdict(provenance)}, file, indent=1)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def read_provenance(first_file: Path) -> Provenance | None:
    """Give where a model is from; None when that is not known. Touches the disk."""
    try:
        with provenance_path(first_file).open("rb") as file:
            said: JsonValue = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("format") != _FORMAT:
        return None
    place, files, fetched = said.get("place"), said.get("files"), said.get("fetched_at")
    if not isinstance(place, str):
        return None
    names = files if isinstance(files, list) else []
    return Provenance(
        place=place,
        revision=_text(said.get("revision")),
        licence=_text(said.get("licence")),
        kind=_text(said.get("kind")) or "model",
        files=tuple(name for name in names if isinstance(name, str)),
        fetched_at=float(fetched) if isinstance(fetched, int | float) else 0.0,
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
