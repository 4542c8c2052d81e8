"""Which programs have a database open: each holds a lock that ends with its process.

A kernel lock needs no heartbeat, cannot be left behind by a crash, and is not fooled by a reused
process id. The lock files lie in a folder beside the database.
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
    """The programs that have one database open, this one included."""

    def __init__(self, database: Path, own: str) -> None:
        self.own = own
        self._folder = database.with_name(f"{database.stem}.live")
        self._held: int | None = None

    def join(self) -> None:
        """Hold this program's lock until `leave` or the end of the process.

        Raises:
            OSError: the lock file cannot be created.
        """
        make_folder(self._folder)
        while self._held is None:
            descriptor = open_lock(self._file(self.own))
            if try_lock(descriptor) and is_named(descriptor, self._file(self.own)):
                self._held = descriptor
            else:  # another program has just removed the file as stale
                os.close(descriptor)

    def leave(self) -> None:
        """Release the lock; a second call is a no-op."""
        if self._held is not None:
            with suppress(OSError):
                self._file(self.own).unlink()
            os.close(self._held)
            self._held = None

    def others(self) -> frozenset[str]:
        """Return the other running programs, and remove the lock files of dead ones."""
        names = [file.stem for file in self._folder.glob(f"*{_ENDING}")]
        return frozenset(name for name in names if name != self.own and self._lives(name))

    def note_damage(self) -> None:
        """Have the database checked when it is opened next, whatever its size."""
        with suppress(OSError):
            make_folder(self._folder)
            (self._folder / _DAMAGE).touch()

    def has_damage(self) -> bool:
        """Return whether damage was met since the database was last checked."""
        return (self._folder / _DAMAGE).exists()

    def forget_damage(self) -> None:
        """Note that the database was checked."""
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
        """Hold the lock under which one program checks, moves or migrates the database.

        Raises:
            TimeoutError: another program holds it for too long.
            OSError: the lock file cannot be created.
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
