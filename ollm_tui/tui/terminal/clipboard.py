"""Text for a terminal's clipboard, or for a file if that is too small."""

import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Final

import anyio.lowlevel

from ollm_tui.config.paths import private_folder
from ollm_tui.decode.clean import Cleaner

MOST_ENCODED: Final = 100_000
"""Bytes of a clipboard sequence, after base64, that every terminal is known to accept.

A terminal that refuses one does not report it, so nothing larger is sent.
"""
SLICE_S: Final = 0.008
"""How long a copy may block the screen at a time."""
_PIECE: Final = 65_536


def fits_a_terminal(text: str) -> bool:
    """Return whether a text is short enough for every terminal's clipboard."""
    if len(text) > MOST_ENCODED:
        return False
    return -(-len(text.encode("utf-8", "replace")) // 3) * 4 <= MOST_ENCODED


def pieces(text: str) -> Iterator[str]:
    """Yield a text in short pieces."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def joined_lines(lines: Iterable[str | None]) -> Iterator[str | None]:
    """Yield lines with line ends between them; None, a place to pause, is passed on."""
    is_first = True
    for line in lines:
        if line is not None:
            yield line if is_first else f"\n{line}"
            is_first = False
        else:
            yield None


async def cleaned(parts: Iterable[str | None]) -> AsyncIterator[str]:
    """Yield a text without control sequences, from its parts; pauses for other tasks."""
    cleaner, due = Cleaner(), time.monotonic() + SLICE_S
    done: list[str] = []
    for part in parts:
        if part:
            done.append(cleaner.feed(part))
        if time.monotonic() > due:
            # joined here, so that the caller need not join millions of parts at once
            yield "".join(done)
            done.clear()
            await anyio.lowlevel.checkpoint()
            due = time.monotonic() + SLICE_S
    yield "".join(done) + cleaner.finish()


def write_copy(folder: Path, text: str) -> Path:
    """Write a text to a new file that only its owner can read, and return its path.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    private_folder(folder)
    stem, number = time.strftime("copy-%Y%m%d-%H%M%S"), 1
    while True:
        path = folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        return path
