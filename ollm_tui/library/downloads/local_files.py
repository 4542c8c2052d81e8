"""Which files a person means who names a file or a folder of this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.fetched_model import is_gguf
from ollm_tui.library.shards import part_stem, shard_of
from ollm_tui.protocol.errors import AIError, ErrorCode

MOST_FILES: Final = 1000
DEEPEST: Final = 4


def chosen_files(chosen: Path, root: Path) -> list[tuple[Path, str]]:
    """Give the files, and the path below the library that each gets, written with `/`.

    A folder means the GGUF files in it; a part of a split model means all its parts. Touches the
    disk.

    Raises:
        AIError: there are none, too many, or they are in the library already.
    """
    place = chosen.expanduser()
    if place.resolve().is_relative_to(root.resolve()):
        raise AIError(ErrorCode.CONFLICT, f"{clean_name(chosen.name)} is in the library already.")
    if place.is_dir():
        found = [(file, f"{place.resolve().name}/{way}") for file, way in _below(place, "", 0)]
    elif place.is_file():
        found = [(file, file.name) for file in _with_parts(place)]
    else:
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no file {clean_name(str(chosen))}.")
    if not found:
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no GGUF file in {clean_name(str(chosen))}.")
    if len(found) > MOST_FILES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"There are more than {MOST_FILES} model files in {clean_name(str(chosen))}.",
            hint="Add it to model_folders below [embedded] instead: then nothing is copied.",
        )
    return found


def _below(folder: Path, way: str, depth: int) -> Iterator[tuple[Path, str]]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink() and depth < DEEPEST:
            yield from _below(entry, f"{way}{entry.name}/", depth + 1)
        elif is_gguf(entry) and entry.is_file():
            yield entry, f"{way}{entry.name}"


def _with_parts(file: Path) -> list[Path]:
    shard = shard_of(file.stem) if is_gguf(file) else None
    if shard is None:
        return [file]
    parts = [
        file.with_name(part_stem(shard, number) + file.suffix)
        for number in range(1, min(shard.count, MOST_FILES + 1) + 1)
    ]
    for part in parts:
        if not part.is_file():
            raise AIError(ErrorCode.BAD_REQUEST, f"{clean_name(part.name)} is missing.")
    return parts
