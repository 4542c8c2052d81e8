"""Texts on their way out: to a terminal's clipboard, or to a file where that is too small."""

import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Final

import anyio.lowlevel

from ollm_tui.config.paths import private_folder
from ollm_tui.decode.clean import Cleaner

MOST_ENCODED: Final = 100_000
"""Bytes of a clipboard sequence's payload that terminals are known to take, after base64.

Nothing comes back when one takes less, so what is larger is not sent at all.
"""
SLICE_S: Final = 0.008
"""How long a copy may keep the screen waiting at a time."""
_PIECE: Final = 65_536


def fits_a_terminal(text: str) -> bool:
    """Is a text short enough for every terminal's clipboard?"""
    if len(text) > MOST_ENCODED:
        return False
    return -(-len(text.encode("utf-8", "replace")) // 3) * 4 <= MOST_ENCODED


def pieces(text: str) -> Iterator[str]:
    """Cut a text so that each piece is handled in no time."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def joined_lines(lines: Iterable[str | None]) -> Iterator[str | None]:
    """Put the line ends between lines; None stays a place to pause."""
    is_first = True
    for line in lines:
        if line is not None:
            yield line if is_first else f"\n{line}"
            is_first = False
        else:
            yield None


async def cleaned(parts: Iterable[str | None]) -> AsyncIterator[str]:
    """Clean parts of a text that cannot drive a terminal then; gives others their turn."""
    cleaner, due = Cleaner(), time.monotonic() + SLICE_S
    found: list[str] = []
    for part in parts:
        if part:
            found.append(cleaner.feed(part))
        if time.monotonic() > due:
            # Put together here, so that the caller need not do it with millions of parts at once.
            yield "".join(found)
            found.clear()
            await anyio.lowlevel.checkpoint()
            due = time.monotonic() + SLICE_S
    yield "".join(found) + cleaner.finish()


def write_copy(folder: Path, text: str) -> Path:
    """Write a text to a new file that only its owner can read; no file is ever overwritten.

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
