"""From what a person names to what can be attached, read beside the event loop."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from ollm_tui.attachments.attachment import (
    MOST_PICTURE_BYTES,
    AttachedPicture,
    Attachment,
    attachment_of,
    picture_of,
)
from ollm_tui.attachments.paths import readings
from ollm_tui.attachments.reading import read_file, refusal, shown_path

PATIENCE_S: Final = 10.0
"""How long a disk may take: a network folder that is gone never answers."""
T = TypeVar("T")


async def attach(path: Path) -> Attachment:
    """Read a file, to be seen or to be read.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    return await _beside(partial(_attach, path), path)


async def attach_picture(path: Path) -> AttachedPicture:
    """Read a file that must be a picture.

    Raises:
        AIError: BAD_REQUEST, with a sentence that says why not.
    """
    return await _beside(partial(_attach_picture, path), path)


async def existing(text: str) -> Sequence[Path]:
    """Give the files that a text names, in the first reading of which all exist; often none."""
    return await _beside(partial(_existing, text), Path(text[:40]))


async def named(text: str) -> Sequence[Path]:
    """Give the files that a person names; where none exists, what was most likely meant.

    Raises:
        AIError: BAD_REQUEST for what is no path.
    """
    found = await existing(text)
    if found:
        return found
    ways = list(readings(text))
    if not ways:
        raise refusal(f"{shown_path(Path(text[:40]))} is not a path.")
    return ways[-1]


def _attach(path: Path) -> Attachment:
    return attachment_of(read_file(path, MOST_PICTURE_BYTES))


def _attach_picture(path: Path) -> AttachedPicture:
    return picture_of(read_file(path, MOST_PICTURE_BYTES))


def _existing(text: str) -> tuple[Path, ...]:
    for paths in readings(text):
        if all(os.path.lexists(path) for path in paths):
            return paths
    return ()


async def _beside(work: Callable[[], T], path: Path) -> T:
    try:
        with anyio.fail_after(PATIENCE_S):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except TimeoutError:
        raise refusal(
            f"{shown_path(path)} could not be read within {PATIENCE_S:g} s.",
            "The disk or the network behind it does not answer.",
        ) from None
