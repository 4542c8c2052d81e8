"""Searching in files, which are reached by descriptors and never through links.

A pattern runs in the `regex` engine, which gives up after a time and lets other threads run.
"""

import fnmatch
import os
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

from anyio import from_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.decode.repeats import MAX_REPEATS, repeats_of
from ollm_tui.tools.builtin.guard import FileGuard, Watch, content_refusal, shown_path
from ollm_tui.tools.builtin.read_file import MORE_BYTES, chunks_of, is_binary
from ollm_tui.tools.builtin.root import Resolved, open_child, resolve_in_root
from ollm_tui.tools.builtin.secrets import is_hidden
from ollm_tui.tools.define import FunctionTool, ToolFailure, tool

MAX_DEPTH = 32
PASSED_OVER = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file; closed when the next one is requested."""

    fd: int
    names: tuple[str, ...]


def files_below(folder: Resolved) -> Generator[OpenFile, None, None]:
    """Yield the files in a folder and its subfolders, except hidden and secret ones."""
    yield from _files(folder.fd, folder.names, MAX_DEPTH, folder.watch)


def fits(names: Sequence[str], glob: str) -> bool:
    """Return whether a path matches a glob; a glob without a slash is for the name alone."""
    if "/" not in glob:
        return fnmatch.fnmatchcase(names[-1], glob)
    path = "/".join(names)
    pattern = glob.removeprefix("./")
    return any(fnmatch.fnmatchcase(path, form) for form in (pattern, pattern.replace("**/", "")))


def _files(
    folder_fd: int, names: tuple[str, ...], depth: int, watch: Watch
) -> Generator[OpenFile, None, None]:
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
                yield OpenFile(fd, below)
        finally:
            os.close(fd)


def _names(folder_fd: int) -> list[str]:
    try:
        return sorted(os.listdir(folder_fd))
    except OSError:
        return []


MAX_MATCHES = 200
MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_SECONDS = 8.0
_PATTERN_SECONDS = 0.5
_MAX_PATTERN_LENGTH = 500
_MAX_LINE_LENGTH = 300

Matcher: TypeAlias = Callable[[str], bool]
Mode: TypeAlias = Literal["text", "regex"]


@dataclass(slots=True)
class _Search:
    matches: Matcher
    ends_at: float
    clock: Callable[[], float]
    stride: int
    """Number of lines between two checks of the limits."""
    lines: list[str] = field(default_factory=list)
    files: int = 0
    withheld: int = 0
    """Number of files with keys."""
    stopped: str = ""
    """Why the search is incomplete; empty if it is not."""

    def is_over(self) -> bool:
        from_thread.check_cancelled()
        if len(self.lines) >= MAX_MATCHES:
            self.stopped = f"stopped at {MAX_MATCHES} matches"
        elif self.clock() > self.ends_at:
            self.stopped = f"stopped after {MAX_SECONDS:g} s"
        return bool(self.stopped)


def searching_tool(
    root: Path, guard: FileGuard, clock: Callable[[], float] = time.monotonic
) -> FunctionTool:
    """Return the tool `search_files` for one folder."""

    @tool(effect="read", timeout_s=15)
    def search_files(pattern: str, path: str = ".", glob: str = "*", mode: Mode = "text") -> str:
        """Find the lines of files that hold a text, as path:line: text.

        Hidden files, links, binary files, node_modules and files with keys are passed over.

        Args:
            pattern: The text to look for; upper and lower case differ.
            path: The folder or file to search, relative to the working folder.
            glob: Which files to search, such as "*.py" or "src/**/*.md".
            mode: "text" takes the pattern as it is, "regex" as a regular expression.
        """
        search = _Search(
            _matcher(pattern, mode), clock() + MAX_SECONDS, clock, 1 if mode == "regex" else 200
        )
        with resolve_in_root(root, path, guard) as target:
            if target.is_folder:
                _search_folder(search, target, glob)
            else:
                _search_file(search, OpenFile(target.fd, target.names), target.watch)
                if search.withheld:
                    raise content_refusal(target.shown)
            return _report(search, target.shown)

    return search_files


def _matcher(pattern: str, mode: Mode) -> Matcher:
    if not pattern or len(pattern) > _MAX_PATTERN_LENGTH:
        raise ToolFailure(f"A pattern has 1 to {_MAX_PATTERN_LENGTH} characters.")
    return (lambda line: pattern in line) if mode == "text" else _regex_matcher(pattern)


def _regex_matcher(pattern: str) -> Matcher:
    # Loaded with the first pattern; most searches are for plain text.
    import regex

    if repeats_of(pattern) > MAX_REPEATS:
        raise ToolFailure("The pattern repeats too often. Use smaller or fewer counts in {}.")
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ToolFailure(f"The pattern is no regular expression: {error}.") from None

    def matches(line: str) -> bool:
        try:
            return compiled.search(line, timeout=_PATTERN_SECONDS, concurrent=True) is not None
        except (TimeoutError, MemoryError):
            raise ToolFailure(
                "The pattern takes too long. Make it simpler, above all repeats within repeats."
            ) from None

    return matches


def _search_folder(search: _Search, folder: Resolved, glob: str) -> None:
    with closing(files_below(folder)) as files:
        for file in files:
            if fits(file.names, glob):
                _search_file(search, file, folder.watch)
            if search.is_over():
                return


def _search_file(search: _Search, file: OpenFile, watch: Watch) -> None:
    data = b"".join(chunks_of(file.fd, MAX_FILE_BYTES + MORE_BYTES))
    # Before anything is compared: whether a pattern matches would reveal the key.
    if watch.holds_keys([data]):
        search.withheld += 1
        return
    data = data[:MAX_FILE_BYTES]
    search.files += 1
    if is_binary(data[:8192]):
        return
    shown = shown_path(file.names)
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = raw.decode(errors="replace").rstrip("\r")
        if search.matches(line):
            search.lines.append(f"{shown}:{number}: {line[:_MAX_LINE_LENGTH]}")
        if number % search.stride == 0 and search.is_over():
            return


def _report(search: _Search, where: str) -> str:
    matching = counted(len(search.lines), "matching line")
    notes = [f"{matching} in {counted(search.files, 'file')} of {where}"]
    if search.withheld:
        notes.append(f"{counted(search.withheld, 'file')} with keys passed over")
    if search.stopped:
        notes.append(search.stopped)
    return "\n".join([*search.lines, f"[{'; '.join(notes)}]"])
