"""Walking the files below an open folder, by descriptors and never through links."""

import fnmatch
import os
import stat
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ollm_tui.tools.builtin.guard import Watch
from ollm_tui.tools.builtin.root import Resolved, open_child
from ollm_tui.tools.builtin.secrets import is_hidden

DEEPEST = 32
PASSED_OVER = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Found:
    """An open file; closed when the next one is asked for."""

    fd: int
    names: tuple[str, ...]


def files_below(folder: Resolved) -> Generator[Found, None, None]:
    """Give the files in a folder and its subfolders, but for hidden and secret ones."""
    yield from _files(folder.fd, folder.names, DEEPEST, folder.watch)


def fits(names: Sequence[str], glob: str) -> bool:
    """Tell whether a path fits a glob; without a slash in it the glob is for the name alone."""
    if "/" not in glob:
        return fnmatch.fnmatchcase(names[-1], glob)
    path = "/".join(names)
    pattern = glob.removeprefix("./")
    return any(fnmatch.fnmatchcase(path, form) for form in (pattern, pattern.replace("**/", "")))


def _files(
    folder_fd: int, names: tuple[str, ...], depth: int, watch: Watch
) -> Generator[Found, None, None]:
    folder = os.fstat(folder_fd)
    for name in _names(folder_fd):
        below = (*names, name)
        if is_hidden(name) or name in PASSED_OVER:
            continue
        try:
            fd, status = open_child(folder_fd, name)
        except OSError:
            continue
        try:
            if not watch.may_open(below, status, folder):
                continue
            if stat.S_ISDIR(status.st_mode):
                if depth > 0:
                    yield from _files(fd, below, depth - 1, watch)
            else:
                yield Found(fd, below)
        finally:
            os.close(fd)


def _names(folder_fd: int) -> list[str]:
    try:
        return sorted(os.listdir(folder_fd))
    except OSError:
        return []
