"""The log: warnings and worse go to a file of the user's, never to the terminal."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

LARGEST_LOG_BYTES = 1_000_000


class LogFile(logging.FileHandler):
    """Opens its file at the first record, for its owner alone, and starts anew when it is full."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True, errors="backslashreplace")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; a log that cannot be written is no reason to fail."""
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: the terminal belongs to the conversation."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LARGEST_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.old"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(
            os.fdopen(descriptor, "wb"), encoding=self.encoding, errors=self.errors
        )


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Send what the program and its libraries log to a file until the block is left."""
    handler, root = LogFile(path), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
