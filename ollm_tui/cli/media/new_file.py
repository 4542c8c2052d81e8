"""A file that a command makes: it appears whole under its name, and replaces nothing unasked."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ollm_tui.cli.output import UsageError
from ollm_tui.config.regular_file import real_path, why_unreadable
from ollm_tui.protocol.errors import AIError, ErrorCode

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


class NewFile:
    """The file, as a context manager; a part of it is removed, however the block is left.

    Its bytes are written to a hidden file beside it until `publish`.
    """

    def __init__(self, path: Path, *, replaces: bool) -> None:
        self.path = path
        self._replaces = replaces
        self._target = real_path(path)
        self._part = self._target.with_name(f".{os.urandom(8).hex()}.part")
        self._descriptor = -1
        self.size = 0

    def __enter__(self) -> Self:
        """Open the hidden file.

        Raises:
            UsageError: the name is taken, or there can be no file of this name.
        """
        self._check()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._part, flags, 0o666)
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.path} cannot be written: {_why(error)}.") from error
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)

    def append(self, data: bytes) -> None:
        """Append some bytes. Blocks.

        Raises:
            AIError: they cannot be written.
        """
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            raise self._failed(error) from error
        self.size += len(data)

    def overwrite(self, at: int, data: bytes) -> None:
        """Write some bytes in place of those at a position. Blocks.

        Raises:
            AIError: they cannot be written.
        """
        try:
            os.pwrite(self._descriptor, data, at)
        except OSError as error:
            raise self._failed(error) from error

    def publish(self) -> None:
        """Give the file its name. Blocks.

        Raises:
            AIError: it cannot be written.
            UsageError: another file has got the name meanwhile.
        """
        try:
            os.fsync(self._descriptor)  # or a crash could leave the name with nothing in it
            self._close()
            if self._replaces:
                self._part.replace(self._target)
            else:
                self._link()
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            raise self._failed(error) from error

    def _link(self) -> None:
        """Give it the name only if no file has it, which a link does in one step."""
        try:
            os.link(self._part, self._target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._check()
            self._part.replace(self._target)

    def _check(self) -> None:
        try:
            mode = self._target.stat().st_mode
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.path} cannot be written: {_why(error)}.") from error
        if not stat.S_ISREG(mode):
            raise UsageError(f"{self.path} is not a file.", "Name a file with -o.")
        if not self._replaces:
            raise self._taken()

    def _taken(self) -> UsageError:
        return UsageError(f"{self.path} exists already.", "Use --force to replace it.")

    def _failed(self, error: OSError) -> AIError:
        return AIError(
            ErrorCode.INTERNAL_ERROR, f"{self.path} could not be written ({error.strerror})."
        )

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "its folder does not exist"
    return why_unreadable(error)
