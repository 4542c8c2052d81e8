"""Paths that the user typed, pasted or dropped, and those that complete a few letters.

Terminals write a dropped file in their own way: quoted, with backslashes before blanks, as a
`file://` URL, or bare with its blanks. Only the disk can tell which reading is right.
"""

import os
import re
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

from ollm_tui.config.paths import expanded
from ollm_tui.lazy import lazy_re

MAX_PATH_LENGTH: Final = 4096
MAX_DROPPED: Final = 20
"""Files that are dropped at once."""
_MAX_DROP_LENGTH: Final = MAX_DROPPED * MAX_PATH_LENGTH
_FILE_END: Final = lazy_re(
    r"\.(?:png|jpe?g|jfif|gif|webp|bmp|heic|heif|avif|tiff?|svg|pdf"
    r"|wav|mp3|m4a|ogg|oga|opus|flac|aac|mp4|m4v|mov|webm|avi)['\"]?\Z",
    re.IGNORECASE,
)
_FILE_URL: Final = lazy_re(
    r"file:(?://(?:localhost)?(?=/)|(?=/(?!/)))(?P<path>/.*)\Z", re.IGNORECASE | re.DOTALL
)
MAX_FILES: Final = 20_000
"""The most that are searched; more would make every letter wait."""
_WALK_S: Final = 1.5
"""How long a walk may take; it returns what it has found by then."""
_FRESH_S: Final = 5.0
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_ELSEWHERE: Final = ("/", "~", "./", "../")


def may_be_files(text: str) -> bool:
    """Whether a pasted text may be nothing but paths of files to attach."""
    if len(text) > _MAX_DROP_LENGTH:
        return False
    text = text.strip()
    return _FILE_END.search(text) is not None and text.count("\n") < MAX_DROPPED


def readings(text: str) -> Iterator[tuple[Path, ...]]:
    """Yield the ways in which a text can be read as paths, the most literal first; often none."""
    seen = set()
    for words in _wordings(text.strip()):
        paths = tuple(path for word in words if (path := as_path(word)) is not None)
        if paths and len(paths) == len(words) <= MAX_DROPPED and paths not in seen:
            seen.add(paths)
            yield paths


def as_path(word: str) -> Path | None:
    """Read one path, with `~` for the home folder, or a `file://` URL; None for what is neither."""
    if url := _FILE_URL.match(word):
        word = os.fsdecode(unquote_to_bytes(url["path"]))
    if not word or "\0" in word or len(word) > MAX_PATH_LENGTH:
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


class FileFinder:
    """Caches the files below a folder for a few seconds.

    Links are not followed, hidden files are left out unless the query begins with a dot, and
    so are names that cannot be shown as they are.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, tuple[str, ...]] | None = None

    def candidates(self, query: str) -> Sequence[str]:
        """Return the paths to match `query` with; a folder ends with a slash.

        What begins with a slash, `~`, `./` or `../` is searched in that folder only; the rest
        anywhere below the root, as paths from there. May block on the disk: call it in a thread.
        """
        if query.startswith(_ELSEWHERE):
            folder, slash, begun = query.rpartition("/")
            return _listed(self._root, folder + slash, begun) if slash else ("~/",)
        with self._lock:
            now = self._clock()
            if self._known is None or now - self._known[0] > _FRESH_S:
                self._known = now, tuple(_below(self._root, self._clock))
            return self._known[1]


def _listed(root: Path, shown: str, begun: str) -> Sequence[str]:
    entries = _entries(root / expanded(Path(shown)), hidden=begun.startswith("."))
    return [
        f"{shown}{entry.name}{'/' if _is_folder(entry) else ''}"
        for entry in islice(entries, MAX_FILES)
    ]


def _below(root: Path, clock: Callable[[], float]) -> Iterator[str]:
    """Yield the files below a folder, those of the upper folders first."""
    until = clock() + _WALK_S
    folders = deque([""])
    count = 0
    while folders:
        shown = folders.popleft()
        for entry in _entries(root / shown):
            if count == MAX_FILES or clock() > until:
                return
            count += 1
            name = f"{shown}{entry.name}"
            if _is_folder(entry):
                if entry.name not in _SKIPPED:
                    folders.append(f"{name}/")
            else:
                yield name


def _entries(folder: Path, *, hidden: bool = False) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_shown = entry.name.isprintable() and (hidden or entry.name[:1] != ".")
                if is_shown and (_is_folder(entry) or entry.is_file(follow_symlinks=False)):
                    yield entry
    except OSError:  # it does not exist or cannot be read
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)
