"""Listing a folder."""

import itertools
import os
from pathlib import Path

from ollm_tui.decode.counted import counted
from ollm_tui.tools.builtin.guard import FileGuard, shown_path
from ollm_tui.tools.builtin.root import Resolved, resolve_in_root
from ollm_tui.tools.builtin.secrets import is_hidden
from ollm_tui.tools.define import FunctionTool, ToolFailure, tool

MAX_ENTRIES = 500
MAX_SEEN = 20_000


def listing_tool(root: Path, guard: FileGuard) -> FunctionTool:
    """Return the tool `list_directory` for one folder."""

    @tool(effect="read", timeout_s=10)
    def list_directory(path: str = ".", include_hidden: bool = False) -> str:
        """List what is in a folder: names, a slash after folders, sizes of files in bytes.

        Args:
            path: The folder, relative to the working folder.
            include_hidden: Also list names that begin with a dot.
        """
        with resolve_in_root(root, path, guard) as target:
            if not target.is_folder:
                raise ToolFailure(f"{target.shown} is a file. Use read_file for it.")
            return _list(target, include_hidden)

    return list_directory


def _list(target: Resolved, include_hidden: bool) -> str:
    with os.scandir(target.fd) as scan:
        seen = list(itertools.islice(scan, MAX_SEEN + 1))
        more = len(seen) > MAX_SEEN
        shown = [entry for entry in seen[:MAX_SEEN] if include_hidden or not is_hidden(entry.name)]
        entries = [entry for entry in shown if _may_be_named(target, entry)]
        entries.sort(key=lambda entry: (not _is_folder(entry), entry.name.casefold(), entry.name))
        lines = [_line(entry) for entry in entries[:MAX_ENTRIES]]
    hidden, kept = len(seen[:MAX_SEEN]) - len(shown), len(shown) - len(entries)
    notes = [counted(len(entries), "entry", "entries") + (" or more" if more else "")]
    if len(entries) > MAX_ENTRIES:
        notes.append(f"the first {MAX_ENTRIES} are shown")
    if hidden:
        notes.append(f"{hidden} hidden")
    if kept:
        notes.append(f"{kept} not named that may hold passwords or keys")
    return "\n".join([*lines, f"[{target.shown}: {', '.join(notes)}]"])


def _may_be_named(target: Resolved, entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return True
    return target.watch.may_open((*target.names, entry.name), status, target.status)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _line(entry: os.DirEntry[str]) -> str:
    name = shown_path([entry.name])
    try:
        if entry.is_symlink():
            return f"{name} (link)"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        if entry.is_file(follow_symlinks=False):
            return f"{name} {entry.stat(follow_symlinks=False).st_size}"
    except OSError:
        return f"{name} (unreadable)"
    return f"{name} (pipe, socket or device)"
