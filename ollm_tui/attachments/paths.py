"""What a person typed, pasted or dropped, read as paths; pure.

Terminals write a dropped file in their own way: quoted, with backslashes before blanks, as a
`file://` URL, or bare with its blanks. Only the disk can tell which reading is meant.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

from ollm_tui.config.paths import expanded

LONGEST_PATH: Final = 4096
MOST_DROPPED: Final = 20
"""Files that are dropped at once."""
_LONGEST_DROP: Final = MOST_DROPPED * LONGEST_PATH
_PICTURE_END: Final = re.compile(
    r"\.(?:png|jpe?g|jfif|gif|webp|bmp|heic|heif|avif|tiff?|svg)['\"]?\Z", re.IGNORECASE
)
_FILE_URL: Final = re.compile(
    r"file:(?://(?:localhost)?(?=/)|(?=/(?!/)))(?P<path>/.*)\Z", re.IGNORECASE | re.DOTALL
)


def may_be_pictures(text: str) -> bool:
    """Whether a pasted text may be nothing but paths of pictures."""
    if len(text) > _LONGEST_DROP:
        return False
    text = text.strip()
    return _PICTURE_END.search(text) is not None and text.count("\n") < MOST_DROPPED


def readings(text: str) -> Iterator[tuple[Path, ...]]:
    """Yield the ways in which a text can be read as paths, the most literal first; often none."""
    seen = set()
    for words in _wordings(text.strip()):
        paths = tuple(path for word in words if (path := as_path(word)) is not None)
        if paths and len(paths) == len(words) <= MOST_DROPPED and paths not in seen:
            seen.add(paths)
            yield paths


def as_path(word: str) -> Path | None:
    """Read one path, with `~` for the home folder, or a `file://` URL; None for what is neither."""
    if url := _FILE_URL.match(word):
        word = os.fsdecode(unquote_to_bytes(url["path"]))
    if not word or "\0" in word or len(word) > LONGEST_PATH:
        return None
    try:
        os.fsencode(word)
        return expanded(Path(word))
    except UnicodeError:  # no name for a file
        return None


def _wordings(text: str) -> Iterator[list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield lines
    try:
        yield shlex.split(" ".join(lines))
    except ValueError:  # a quote that is not closed: then it belongs to a name
        return
