"""Which files a person means who names a file or a folder of this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import expanded
from ollm_tui.config.regular_file import is_file, is_folder, real_path, why_unreadable
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
    place = expanded(chosen)
    if real_path(place).is_relative_to(real_path(root)):
        raise AIError(ErrorCode.CONFLICT, f"{clean_name(chosen.name)} is already in the library.")
    if is_folder(place):
        found = [(file, f"{real_path(place).name}/{way}") for file, way in _below(place, "", 0)]
    elif is_file(place):
        found = [(file, file.name) for file in _with_parts(place)]
    else:
        raise AIError(ErrorCode.BAD_REQUEST, _why_nothing(place))
    if not found:
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no GGUF file in {clean_name(str(chosen))}.")
    if len(found) > MOST_FILES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"There are more than {MOST_FILES} model files in {clean_name(str(chosen))}.",
            hint="Add it to model_folders below [embedded] instead: then nothing is copied.",
        )
    return found


def _why_nothing(place: Path) -> str:
    try:
        place.stat()
    except FileNotFoundError:
        return f"There is no file {clean_name(str(place))}."
    except (OSError, ValueError) as error:
        return f"{clean_name(str(place))} cannot be read: {why_unreadable(error)}."
    return f"{clean_name(str(place))} is not a file but a pipe, socket or device."


def _below(folder: Path, way: str, depth: int) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        said = f"{clean_name(str(folder))} cannot be read: {why_unreadable(error)}."
        raise AIError(ErrorCode.BAD_REQUEST, said) from error
    for entry in entries:
        if is_folder(entry) and not entry.is_symlink() and depth < DEEPEST:
            yield from _below(entry, f"{way}{entry.name}/", depth + 1)
        elif is_gguf(entry) and is_file(entry):
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
        if not is_file(part):
            raise AIError(ErrorCode.BAD_REQUEST, f"{clean_name(part.name)} is missing.")
    return parts
