"""Which programs have a database open: each holds a lock that ends with its process.

A lock of the kernel needs no heartbeat, cannot be left behind by a crash, and is not fooled by a
process id that was given out again. The lock files lie in a folder beside the database.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import is_named, open_lock, try_lock
from ollm_tui.config.regular_file import open_regular
from ollm_tui.store.files import make_folder

_OPENING: Final = "opening"
_DAMAGE: Final = "damaged"
_ENDING: Final = ".lock"
_POLL_S: Final = 0.01


class Instances:
    """The programs at one database, this one among them."""

    def __init__(self, database: Path, own: str) -> None:
        self.own = own
        self._folder = database.with_name(f"{database.stem}.live")
        self._held: int | None = None

    def join(self) -> None:
        """Show that this program lives, until `leave` or the end of the process.

        Raises:
            OSError: the lock file cannot be made.
        """
        make_folder(self._folder)
        while self._held is None:
            descriptor = open_lock(self._file(self.own))
            if try_lock(descriptor) and is_named(descriptor, self._file(self.own)):
                self._held = descriptor
            else:  # somebody has just swept the file away as left behind
                os.close(descriptor)

    def leave(self) -> None:
        """Take the sign of life away; a second call does nothing."""
        if self._held is not None:
            with suppress(OSError):
                self._file(self.own).unlink()
            os.close(self._held)
            self._held = None

    def others(self) -> frozenset[str]:
        """Give the other programs that live, and sweep away what dead ones left."""
        names = [file.stem for file in self._folder.glob(f"*{_ENDING}")]
        return frozenset(name for name in names if name != self.own and self._lives(name))

    def note_damage(self) -> None:
        """Have the database looked through when it is opened next, however large it is."""
        with suppress(OSError):
            make_folder(self._folder)
            (self._folder / _DAMAGE).touch()

    def has_damage(self) -> bool:
        """Tell whether damage was met since the database was looked through."""
        return (self._folder / _DAMAGE).exists()

    def forget_damage(self) -> None:
        """Take note that the database was looked through."""
        with suppress(OSError):
            (self._folder / _DAMAGE).unlink(missing_ok=True)

    def _lives(self, name: str) -> bool:
        try:
            descriptor = open_regular(self._file(name), os.O_RDWR)
        except OSError:
            return False
        try:
            if not try_lock(descriptor):
                return True
            self._file(name).unlink(missing_ok=True)
            return False
        finally:
            os.close(descriptor)

    @contextmanager
    def opening(self, patience_s: float) -> Iterator[None]:
        """Be the only program that checks, moves or migrates the database.

        Raises:
            TimeoutError: another program has been at it for too long.
            OSError: the lock file cannot be made.
        """
        make_folder(self._folder)
        descriptor = open_lock(self._folder / _OPENING)
        try:
            until = time.monotonic() + patience_s
            while not try_lock(descriptor):
                if time.monotonic() > until:
                    raise TimeoutError("another program is opening the database")
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"
