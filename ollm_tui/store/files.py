"""The files of a database, and the locks of the programs that have it open.

The files are private to their owner, and kept if they are damaged. The locks are the kernel's: they
end with their process, need no heartbeat, and are not fooled by a reused process id.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import is_named, open_lock, sync_folder, try_lock
from ollm_tui.config.regular_file import open_regular, require_regular

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_COMPANIONS: Final = ("-journal", "-wal", "-shm")
_OPENING: Final = "opening"
_DAMAGE: Final = "damaged"
_ENDING: Final = ".lock"
_POLL_S: Final = 0.01


def make_folder(folder: Path) -> None:
    """Create a folder that only its owner may enter; an existing one stays as it is."""
    if not folder.is_dir():
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE_FOLDER)  # the umask may have taken more than it should


def make_file(path: Path) -> None:
    """Create an empty file for SQLite, whose journals inherit its mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    path.chmod(_PRIVATE_FILE)


def require_files(path: Path) -> None:
    """Require that a database and its journals are regular files: SQLite would wait for others.

    Raises:
        NotRegularError: one of them is a folder, pipe, socket or device.
    """
    for file in (path, *_companions(path)):
        try:
            status = file.stat()
        except OSError:  # missing, or inaccessible, which is reported of the folder
            continue
        require_regular(status)


def tighten(path: Path) -> None:
    """Remove the rights of others from the files; files of another owner stay as they are."""
    for file in (path, *_companions(path)):
        try:
            if file.stat().st_mode & 0o077:
                file.chmod(_PRIVATE_FILE)
        except OSError:  # missing, or not ours
            continue


def move_aside(path: Path) -> Path | None:
    """Rename a database and its journals to keep them; return None if there is no file."""
    present = [file for file in (path, *_companions(path)) if file.exists()]
    if not present:
        return None
    target = _aside(path)
    for file in present:
        file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
    return target


def put_in_place(path: Path, fresh: Path, *, why: str = "damaged") -> Path:
    """Replace a database by a fresh one; return where the old one is kept, named by `why`.

    At every moment one or the other has the name.
    """
    target = _aside(path, why)
    for file in _companions(path):  # they must not be mistaken for those of the fresh one
        if file.exists():
            file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
    try:
        target.hardlink_to(path)
    except OSError:  # not every file system has links
        path.rename(target)
    fresh.replace(path)
    sync_folder(path.parent)
    return target


def _aside(path: Path, why: str = "damaged") -> Path:
    """Return a free name for a database that is replaced, and its journals."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target, number = path.with_name(f"{path.stem}-{why}-{stamp}{path.suffix}"), 1
    while any(file.exists() for file in (target, *_companions(target))):
        number += 1
        target = path.with_name(f"{path.stem}-{why}-{stamp}-{number}{path.suffix}")
    return target


def has_content(path: Path) -> bool:
    """Whether a database or one of its journals is not empty."""
    return bool(path.exists() and path.stat().st_size) or has_journal(path)


def has_journal(path: Path) -> bool:
    """Whether a journal with something in it belongs to a database."""
    return any(file.exists() and file.stat().st_size for file in _companions(path))


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _companions(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in _COMPANIONS)


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
        """Have the database checked when it is next opened, even if it is large."""
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
    def opening(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock under which one program checks, moves or migrates the database.

        Raises:
            TimeoutError: another program holds it for too long.
            OSError: the lock file cannot be created.
        """
        make_folder(self._folder)
        descriptor = open_lock(self._folder / _OPENING)
        try:
            until = time.monotonic() + timeout_s
            while not try_lock(descriptor):
                if time.monotonic() > until:
                    raise TimeoutError("another program is opening the database")
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"
