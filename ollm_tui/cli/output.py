"""The only place that writes to standard output and error, and turns ends into exit codes.

Standard output has the answer alone, cleaned. Keys are taken out of all but the answer itself.
"""

import errno
import json
import logging
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from traceback import walk_tb
from typing import Final, TextIO

from ollm_tui.config.paths import NoHomeError
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.redact import SecretFinder, is_guessable
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue

logger = logging.getLogger(__name__)

OK = 0
ERROR = 1
USAGE = 2
NEEDS_APPROVAL = 3
SCHEMA_MISMATCH = 4
TURN_LIMIT = 5
STOPPED = 130
_COLUMNS = 80
_STREAMS: Final = (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
"""Modes to open the null device with; a write to standard output fails."""
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class UsageError(Exception):
    """A command line that makes no sense."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NeedsApproval(Exception):
    """A confirmation is needed, and there is no terminal for it."""

    def __init__(
        self, message: str, hint: str = "Use the full-screen app for that: `ollm`."
    ) -> None:
        super().__init__(message)
        self.hint = hint


class NotWritten(OSError):
    """Standard output takes nothing more: a full disk, a limit, or it was closed from the start."""


class Output:
    """Standard output and error as the commands use them."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out
        self._err = err
        self._drawn = 0
        self._secrets: frozenset[str] = frozenset()
        self._finder = SecretFinder(())

    def keep_secret(self, secrets: Iterable[str | None]) -> None:
        """Redact these from now on, except those that may be ordinary words."""
        known = {secret for secret in secrets if secret and not is_guessable(secret)}
        if not known <= self._secrets:
            self._secrets |= known
            self._finder = SecretFinder(self._secrets)

    def redacted(self, text: str) -> str:
        """Return a text without the keys that are known."""
        return self._finder.redact(text)

    @property
    def _stdout(self) -> TextIO:
        return _lenient(self._out or sys.stdout)

    @property
    def _stderr(self) -> TextIO:
        return _lenient(self._err or sys.stderr)

    def answer(self, text: str) -> None:
        """Write text that was cleaned before, at once.

        Raises:
            BrokenPipeError: the reader has closed it.
            NotWritten: it cannot be written.
        """
        try:
            self._stdout.write(text)
            self._stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NotWritten(error.errno, error.strerror) from error

    def line(self, text: str) -> None:
        """Write one line of a result, or several that belong together."""
        self.answer(clean(self.redacted(text)) + "\n")

    def json(self, value: JsonValue, *, indent: int | None = None, is_answer: bool = False) -> None:
        """Write one JSON document in plain ASCII, which no terminal obeys.

        A piece of an answer stays as the model wrote it, as in text.
        """
        kept = value if is_answer else self._redacted_json(value)
        self.answer(json.dumps(kept, indent=indent) + "\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write columns that are as wide as their widest cell."""
        cleaned = [[clean_line(self.redacted(cell)) for cell in row] for row in [head, *rows]]
        widths = [max(map(cell_width, column)) for column in zip(*cleaned, strict=True)]
        for row in cleaned:
            padded = (
                cell + " " * (w - cell_width(cell)) for cell, w in zip(row, widths, strict=True)
            )
            self.answer("  ".join(padded).rstrip() + "\n")

    def note(self, text: str) -> None:
        """Write one sentence to standard error."""
        self._say(f"ollm: {clean_line(self.redacted(text))}\n")

    def error(self, message: str, hint: str | None = None) -> None:
        """Write an error and what to do about it to standard error."""
        ended = message if message.endswith((".", "!", "?", ":", "…")) else f"{message}."
        self.note(f"{ended} {hint}" if hint else message)

    def question(self, text: str) -> None:
        """Write a question; the answer is typed on the same line."""
        self._say(f"ollm: {clean_line(self.redacted(text))} ")

    def end_line(self) -> None:
        """End the line of a question that got no answer."""
        self._say("\n")

    def draw(self, text: str) -> None:
        """Draw one line over the previous one; an empty text erases it.

        The next message begins at the same place, so erase the line first.
        """
        line = truncated(clean_line(self.redacted(text)), self.columns - 1)
        width = cell_width(line)
        stale = self._drawn if line else min(self._drawn + len("^C"), self.columns - 1)
        self._say(f"\r{line}{' ' * (stale - width)}" + ("" if line else "\r"))
        self._drawn = width

    @property
    def columns(self) -> int:
        """The width of the terminal in cells."""
        try:
            return os.get_terminal_size(self._stderr.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def thinking(self, text: str) -> None:
        """Show thinking, dimmed, on a terminal; it is no part of the answer."""
        if self._stderr.isatty():
            dim = not os.environ.get("NO_COLOR")
            self._say(f"{_DIM}{clean(text)}{_PLAIN}" if dim else clean(text))

    @property
    def is_watched(self) -> bool:
        """Whether the user sees standard error."""
        return self._stderr.isatty()

    def _redacted_json(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.redacted(value)
            case list():
                return [self._redacted_json(item) for item in value]
            case dict():
                return {
                    self.redacted(name): self._redacted_json(item) for name, item in value.items()
                }
            case _:
                return value

    def _say(self, text: str) -> None:
        try:
            self._stderr.write(text)
            self._stderr.flush()
        except (OSError, ValueError):
            # A message that cannot be written is no reason to lose the answer.
            _point_at_nothing(self._stderr)

    def guard(self, work: Callable[[], int]) -> int:
        """Run `work` and turn its end into an exit code; a failure also writes a sentence."""
        # Changed while their buffers are empty: a change flushes, which may fail.
        _lenient(self._out or sys.stdout)
        _lenient(self._err or sys.stderr)
        code = self._ended(work)
        # What argparse printed may still be in the buffer.
        return self._ended(self._flushed) or code

    def _flushed(self) -> int:
        self.answer("")
        return OK

    def _ended(self, work: Callable[[], int]) -> int:
        try:
            return work()
        except SystemExit as ended:  # argparse, after it printed help or version
            return ended.code if isinstance(ended.code, int) else OK
        except KeyboardInterrupt:
            return STOPPED
        except Exception as error:  # noqa: BLE001 -- the last chance for a sentence
            return self._failed(error)

    def _failed(self, error: Exception) -> int:
        match error:
            case UsageError():
                self.error(error.message, error.hint)
                return USAGE
            case NeedsApproval():
                self.error(str(error), error.hint)
                return NEEDS_APPROVAL
            case AIError():
                self.error(error.message, error.hint)
                return exit_code(error)
            case NoHomeError():
                self.error(str(error), error.hint)
            case BrokenPipeError():
                _point_at_nothing(self._stdout)
                return OK
            case NotWritten():
                _point_at_nothing(self._stdout)
                self.error(*_about_output(error))
            case OSError():
                _point_at_nothing(self._stdout)
                self.error(f"{error.strerror or type(error).__name__}.")
            case _:
                logger.error("The command failed unexpectedly", exc_info=error)
                if (path := _damaged_bytecode(error)) is not None:
                    self.error(
                        f"A file of the program is damaged, as after a full disk: {path}.",
                        "Delete it; Python recreates it.",
                    )
                    return ERROR
                self.error(f"Internal error ({type(error).__name__}).")
        return ERROR


def open_missing_streams() -> None:
    """Put something in the place of standard streams that were closed when the program began.

    Else the next file that it opens, its database or a connection, gets their number, and what is
    meant for the user is written into that. Nothing can be written to an output that was closed,
    and the command reports that; messages for a closed output are dropped.
    """
    for number, (name, flags) in enumerate(_STREAMS):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, flags)
        # Unless it was taken meanwhile, that is the lowest free number: the one that was closed.
        os.set_inheritable(descriptor, descriptor == number)
        mode = "r" if name == "stdin" else "w"
        stream = open(descriptor, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)


def _about_output(error: NotWritten) -> tuple[str, str]:
    if error.errno == errno.EBADF:
        return "Standard output is closed.", "Send it to a terminal, a file or a pipe."
    reason = error.strerror or "it takes nothing more"
    return f"The output could not be written ({reason}).", "Some of it may be missing."


def _point_at_nothing(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)


def _damaged_bytecode(error: Exception) -> str | None:
    """Return the compiled file that was being read, which a full disk may have cut."""
    if not isinstance(error, EOFError | ImportError | TypeError | ValueError):
        return None
    for frame, _line in walk_tb(error.__traceback__):
        code = frame.f_code
        if code.co_name == "get_code" and code.co_filename.startswith("<frozen importlib"):
            return str(frame.f_locals.get("bytecode_path"))
    return None


def _lenient(stream: TextIO) -> TextIO:
    """Let a terminal that knows few characters show `?` instead of ending the program."""
    # The second is Python's choice in the C locale; it lets only pass what was no text before.
    is_strict = getattr(stream, "errors", "replace") in {"strict", "surrogateescape"}
    if is_strict and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def exit_code(error: AIError) -> int:
    """Return the exit code of a failure."""
    return STOPPED if error.code == ErrorCode.ABORTED else ERROR


def cell_width(text: str) -> int:
    """Return the width of one line of cleaned text, in cells."""
    return sum(_cells_of(character) for character in text)


def truncated(text: str, room: int) -> str:
    """Return as much of the beginning as fits into `room` cells, with `…` where more was."""
    if cell_width(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += _cells_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…" if room > 0 else ""


def _cells_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
