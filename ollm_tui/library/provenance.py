"""Where a model came from, said in a small file beside its first file; `sidecars` reads it."""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ollm_tui.library.sidecars import ORIGIN_ENDING

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
    return first_file.with_name(first_file.name + ORIGIN_ENDING)


def write_provenance(first_file: Path, provenance: Provenance) -> None:
    """Say where a model is from, for its owner alone; touches the disk.

    Raises:
        OSError: it cannot be written.
    """
    path = provenance_path(first_file)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=ORIGIN_ENDING)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump({"format": _FORMAT, **asdict(provenance)}, file, indent=1)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
