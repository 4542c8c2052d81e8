"""Reading a file: lines of a file of any size, in bounded memory and time."""

import os
from collections.abc import Iterator
from pathlib import Path

from anyio import from_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.tools.builtin.guard import FileGuard, content_refusal
from ollm_tui.tools.builtin.root import Resolved, resolve_in_root
from ollm_tui.tools.define import FunctionTool, ToolFailure, tool

CHUNK_BYTES = 64 * 1024
MAX_SCANNED_BYTES = 64 * 1024 * 1024
"""How far into a file lines are searched."""
MORE_BYTES = 4096
"""How far behind the last byte that may be returned keys are searched."""


@dataclass(slots=True)
class Window:
    """Some lines of a file, and their place in it."""

    first: int
    text: bytearray = field(default_factory=bytearray)
    total: int | None = None
    """Number of lines of the file, or None if it was not read to its end."""
    is_cut: bool = False
    """Whether the last line is incomplete."""


def chunks_of(fd: int, max_bytes: int) -> Iterator[bytes]:
    """Yield the file's first bytes, chunk by chunk."""
    offset = 0
    while offset < max_bytes:
        chunk = os.pread(fd, min(CHUNK_BYTES, max_bytes - offset), offset)
        if not chunk:
            return
        offset += len(chunk)
        yield chunk


def read_window(fd: int, size: int, first: int, count: int, max_bytes: int) -> Window:
    """Read `count` lines from line `first` on, but at most `max_bytes` of them."""
    window = Window(first)
    number, scanned, last = 1, 0, b""
    for chunk in chunks_of(fd, MAX_SCANNED_BYTES):
        number = _take(window, chunk, number, first + count, max_bytes)
        scanned += len(chunk)
        last = chunk[-1:]
    if scanned < MAX_SCANNED_BYTES and scanned >= size:
        window.total = number - 1 if last in {b"", b"\n"} else number
    return window


def _take(window: Window, chunk: bytes, number: int, end: int, max_bytes: int) -> int:
    """Add the window's part of a chunk; return the number of the line after its last line feed."""
    start = 0
    while number < window.first and (feed := chunk.find(b"\n", start)) >= 0:
        number, start = number + 1, feed + 1
    if number < window.first:
        return number
    taken_from = start
    while number < end and (feed := chunk.find(b"\n", start)) >= 0:
        number, start = number + 1, feed + 1
    taken = chunk[taken_from : start if number >= end else len(chunk)]
    room = max_bytes - len(window.text)
    window.text += taken[:room]
    window.is_cut = window.is_cut or len(taken) > room
    return number + chunk.count(b"\n", start)


MAX_LINES = 2000
MAX_BYTES = 64 * 1024
_SNIFFED_BYTES = 8192
_SHOWN_BYTES = 8
"""Enough to recognise the kind of a file; more could be a compressed key."""


def reading_tool(root: Path, guard: FileGuard) -> FunctionTool:
    """Return the tool `read_file` for one folder."""

    @tool(effect="read", timeout_s=10)
    def read_file(path: str, start_line: int = 1, line_count: int = 300) -> str:
        """Read a text file, or a part of it.

        Args:
            path: The file, relative to the working folder.
            start_line: The first line to give; lines count from 1.
            line_count: How many lines to give, at most 2000.
        """
        if start_line < 1 or line_count < 1:
            raise ToolFailure("start_line and line_count must be 1 or more.")
        with resolve_in_root(root, path, guard) as target:
            if target.is_folder:
                raise ToolFailure(f"{target.shown} is a folder. Use list_directory for it.")
            # All of it is checked, so that a key that spans lines is not returned in two parts.
            if target.watch.holds_keys(_all_of(target.fd)):
                raise content_refusal(target.shown)
            return _read(target, start_line, min(line_count, MAX_LINES))

    return read_file


def is_binary(start: bytes) -> bool:
    """Return whether a file that begins so is binary."""
    return b"\0" in start


def _all_of(fd: int) -> Iterator[bytes]:
    for chunk in chunks_of(fd, MAX_SCANNED_BYTES + MORE_BYTES):
        # Searching a large file takes a while, so it ends when the call was cancelled.
        from_thread.check_cancelled()
        yield chunk


def _read(target: Resolved, start_line: int, line_count: int) -> str:
    start = os.pread(target.fd, _SNIFFED_BYTES, 0)
    size = target.status.st_size
    if is_binary(start):
        shown = start[:_SHOWN_BYTES].hex(" ")
        return f"[{target.shown} is not text; {counted(size, 'byte')}. It begins with: {shown}]"
    window = read_window(target.fd, size, start_line, line_count, MAX_BYTES)
    lines = _whole_lines(window)
    if not lines:
        return f"[{target.shown} has {_total(window, size)}; nothing is at line {start_line}]"
    text = b"".join(lines).decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return f"{text}{_note(window, len(lines), size)}"


def _whole_lines(window: Window) -> list[bytes]:
    # Line feeds only: bytes.splitlines would count lone carriage returns as well.
    lines = [line + b"\n" for line in bytes(window.text).split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    return lines[:-1] if window.is_cut and len(lines) > 1 else lines


def _note(window: Window, given: int, size: int) -> str:
    last = window.first + given - 1
    cut = ", the last one in part" if window.is_cut and given == 1 else ""
    if window.first == 1 and last == window.total and not cut:
        return ""
    ends = window.total is not None and last >= window.total
    more = "" if ends else f"; go on with start_line={last + 1}"
    return f"\n[lines {window.first} to {last}{cut} of {_total(window, size)}{more}]"


def _total(window: Window, size: int) -> str:
    total = window.total
    lines = "more lines than could be counted" if total is None else counted(total, "line")
    return f"{lines}, {counted(size, 'byte')}"
