"""A new file: it appears whole under its name or not at all, and replaces nothing unasked."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ollm_tui.config.private_file import sync_folder
from ollm_tui.config.regular_file import real_path, why_unreadable
from ollm_tui.protocol.errors import AIError, ErrorCode

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_USUAL: Final = 0o666


class NameTaken(AIError):
    """A file has the name already."""

    def __init__(self, shown: Path | str) -> None:
        super().__init__(ErrorCode.CONFLICT, f"{shown} exists already.")


class NewFile:
    """The file, as a context manager; a part of it is removed, however the block is left.

    Its bytes are written to a hidden file beside it until `publish`. All of it blocks.
    """

    def __init__(
        self,
        path: Path,
        *,
        replaces: bool = False,
        follows_links: bool = True,
        mode: int = _USUAL,
        shown: str | None = None,
    ) -> None:
        """Take the path, with the name that errors show if it is not the path itself.

        Without `follows_links`, a link counts as a file that has the name.
        """
        self.path = path
        self.size = 0
        self._replaces, self._mode, self._follows = replaces, mode, follows_links
        self._shown = str(path) if shown is None else shown
        self._target = self._part = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Open the hidden file.

        Raises:
            NameTaken: a file has the name.
            AIError: BAD_REQUEST if something other than a file has it; INTERNAL_ERROR if there can
                be no file of this name.
        """
        try:
            self._target = real_path(self.path) if self._follows else self.path
            self._part = self._target.with_name(f".{os.urandom(8).hex()}.part")
            self._check()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._part, flags, self._mode)
        except (OSError, ValueError) as error:
            raise self._failed(error) from error
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._close()
        if self._part != self.path:
            with suppress(OSError):
                self._part.unlink(missing_ok=True)

    def append(self, data: bytes) -> None:
        """Append some bytes.

        Raises:
            AIError: INTERNAL_ERROR if they cannot be written.
        """
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            raise self._failed(error) from error
        self.size += len(data)

    def overwrite(self, at: int, data: bytes) -> None:
        """Write some bytes in place of those at a position.

        Raises:
            AIError: INTERNAL_ERROR if they cannot be written.
        """
        try:
            os.pwrite(self._descriptor, data, at)
        except OSError as error:
            raise self._failed(error) from error

    def publish(self) -> None:
        """Give the file its name, once its bytes are on the disk.

        Raises:
            NameTaken: another file has got the name meanwhile.
            AIError: INTERNAL_ERROR if it cannot be written.
        """
        try:
            os.fsync(self._descriptor)  # or a crash could leave the name with nothing in it
            self._close()
            if self._replaces:
                self._part.replace(self._target)
            else:
                self._link()
            sync_folder(self._target.parent)
        except OSError as error:
            raise self._failed(error) from error

    def _link(self) -> None:
        """Give it the name only if no file has it, which a link does in one step."""
        try:
            os.link(self._part, self._target)
        except FileExistsError:
            raise NameTaken(self._shown) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._check()
            self._part.replace(self._target)

    def _check(self) -> None:
        try:
            mode = self._target.stat(follow_symlinks=self._follows).st_mode
        except FileNotFoundError:
            return
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise AIError(ErrorCode.BAD_REQUEST, f"{self._shown} is not a file.")
        if not self._replaces:
            raise NameTaken(self._shown)

    def _failed(self, error: OSError | ValueError) -> AIError:
        reason = why_unreadable(error)
        if isinstance(error, FileNotFoundError):
            reason = "its folder does not exist"
        return AIError(ErrorCode.INTERNAL_ERROR, f"{self._shown} cannot be written: {reason}.")

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
