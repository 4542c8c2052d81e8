"""The log: warnings and worse go to a file of the user's, never to the terminal."""

import copy
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import open_regular
from ollm_tui.decode.clean import clean
from ollm_tui.decode.redact import environment_secrets, redactor

MAX_LOG_BYTES = 1_000_000
Failure: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class PrivateFormatter(logging.Formatter):
    """Writes no control characters, no secrets and no value of an exception.

    The message of an exception may hold a key or a prompt; its type and location are enough.
    """

    def __init__(self, form: str, redacted: Callable[[str], str] = str) -> None:
        super().__init__(form)
        self._redacted = redacted

    def format(self, record: logging.LogRecord) -> str:
        """Write a record as text that any terminal can show."""
        redact = redactor(environment_secrets(os.environ))
        # Handlers share what the first of them wrote of an exception.
        record = copy.copy(record)
        record.exc_text = None
        return clean(self._redacted(redact(super().format(record))))

    def formatException(self, ei: Failure) -> str:
        """Write kinds and places of an exception and of those that led to it."""
        lines: list[str] = []
        error, seen = ei[1], set[int]()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            kind = type(error)
            lines = [*traceback.format_tb(error.__traceback__), f"{kind.__qualname__}\n", *lines]
            error = error.__cause__ or error.__context__
        return "".join(lines).rstrip("\n")


class LogFile(logging.FileHandler):
    """Opens its file at the first record, for its owner alone, and rotates it when it is full."""

    def __init__(self, path: Path, redacted: Callable[[str], str] = str) -> None:
        super().__init__(path, encoding="utf-8", delay=True, errors="backslashreplace")
        form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        self.setFormatter(PrivateFormatter(form, redacted))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; a log that cannot be written is no reason to fail."""
        with suppress(OSError):
            super().emit(record)

    def close(self) -> None:
        """Close the file, whatever of the last record could not be written."""
        with suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """A no-op: the terminal belongs to the conversation."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        private_folder(path.parent)
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.old"))
        descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return TextIOWrapper(
            os.fdopen(descriptor, "wb"), encoding=self.encoding, errors=self.errors
        )


@contextmanager
def logging_to(path: Path, redacted: Callable[[str], str] = str) -> Iterator[None]:
    """Send what the program and its libraries log to a file until the block is left."""
    handler, root = LogFile(path, redacted), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
