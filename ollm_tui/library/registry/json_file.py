"""A small JSON file of several programs: whole or not at all, and one writer at a time."""

import errno
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import open_lock, try_lock, write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.protocol.json_types import JsonObject

logger = logging.getLogger(__name__)

LARGEST: Final = 32 * 1024 * 1024
"""Bytes; a larger file is none of ours."""
_PATIENCE_S: Final = 5.0
_POLL_S: Final = 0.01


def read_object(path: Path) -> JsonObject:
    """Read an object; a missing file is an empty one, and so is a damaged one, with a log line."""
    try:
        return _parsed(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s is unreadable: %s", path.name, type(error).__name__)
        return {}


def update_object(path: Path, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Read, change and write a file, with every other program kept out; give what was written.

    A damaged file is set aside, so that nothing in it is lost by the writing.

    Raises:
        OSError: it cannot be written, or another program holds it for long.
    """
    private_folder(path.parent)
    with _locked(path.with_name(f".{path.name}.lock")):
        try:
            kept = _parsed(path)
        except FileNotFoundError:
            kept = {}
        except (ValueError, RecursionError) as error:
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            reason = type(error).__name__
            logger.warning("%s was damaged (%s): now %s", path.name, reason, aside.name)
            kept = {}
        changed = change(kept)
        write_private(path, json.dumps(changed).encode())
        return changed


def _parsed(path: Path) -> JsonObject:
    value: object = json.loads(read_bounded(path, LARGEST))
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 -- as any other damage
    return value


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = open_lock(path)
    try:
        _wait_for(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not try_lock(descriptor):
        if time.monotonic() > ends:
            raise BlockingIOError(errno.EAGAIN, "another program has it in hand")
        time.sleep(_POLL_S)
